package scenario

import (
	"errors"
	"log/slog"
	"time"
)

// Config of a run.
type Config struct {
	// Binary is the built aisle. No default.
	Binary string
	// Shifted is the same, built so that its clock can be shifted; needed by the scenario replica-clock alone.
	Shifted string
	// Dir is where the run keeps its data and logs; it is made, and emptied when the run was fine. PostgreSQL's
	// user must be able to reach it. No default.
	Dir string
	// Seed of everything that is drawn.
	Seed uint64
	// Replicas: servers. Default: 3.
	Replicas int
	// Buyers who buy at the same time. Default: 24.
	Buyers int
	// Watchers who look on. Default: 1,000.
	Watchers int
	// Think is the pause of a buyer between two commands. Default: 60 ms.
	Think time.Duration
	// Confirms is how many of a hundred holds are bought in the end. Default: 60.
	Confirms int
	// HoldFor is how long a hold lasts. Default: 6 s.
	HoldFor time.Duration
	// LeaderTTL is the leader's lease. Default: 3 s.
	LeaderTTL time.Duration
	// Showings on sale, each of Rows × SeatsPerRow seats. Default: 40 of 12 × 20.
	Showings, Rows, SeatsPerRow int
	// Before is how long buyers work before the fault, After how long after the repair. Default: 3 s each.
	Before, After time.Duration
	// Within is how soon after the repair every watcher must be right. Default: 5 s.
	Within time.Duration
	// MaxBackoff is the longest a watcher waits before it tries to come back. Default: 2 s; what is judged is the servers, not
	// the 30 s that browsers may wait.
	MaxBackoff time.Duration
	// GiveUp is how long after Within a watcher that is still wrong is waited for, to tell late from never.
	// Default: 15 s.
	GiveUp time.Duration
	// Logger hears what is done, and when. Default: none.
	Logger *slog.Logger
}

// WithDefaults returns the Config with what was left open filled in.
func (c Config) WithDefaults() Config {
	fill(&c.Replicas, 3)
	fill(&c.Buyers, 24)
	fill(&c.Watchers, 1000)
	fill(&c.Think, 60*time.Millisecond)
	fill(&c.Confirms, 60)
	fill(&c.HoldFor, 6*time.Second)
	fill(&c.LeaderTTL, 3*time.Second)
	fill(&c.Showings, 40)
	fill(&c.Rows, 12)
	fill(&c.SeatsPerRow, 20)
	fill(&c.Before, 3*time.Second)
	fill(&c.After, 3*time.Second)
	fill(&c.Within, 5*time.Second)
	fill(&c.MaxBackoff, 2*time.Second)
	fill(&c.GiveUp, 15*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate says what is wrong with the Config.
func (c Config) Validate() error {
	switch {
	case c.Binary == "":
		return errors.New("chaos: there is no aisle to run: build it first (make build)")
	case c.Dir == "":
		return errors.New("chaos: there is no directory to work in")
	case c.After >= c.Within:
		return errors.New("chaos: buyers must stop before watchers have to be right")
	default:
		return nil
	}
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
