// Package rows has the rows of the benchmark: what is measured, against whom, and what is wanted.
package rows

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/cmd/aislebench/engine"
	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
	"github.com/aislehq/aisle/cmd/aislebench/stores"
)

// Bench is what the rows run with.
type Bench struct {
	Stores *stores.Stores
	// Short leaves out what takes long: sizes, and contestants that have been slower in every run.
	Short bool
	// Measured is how many rounds count, and Round how long one lasts.
	Measured int
	Round    time.Duration
	// Repo is the repository's root, and Binary the built aisle.
	Repo, Binary string
	// Progress hears of each round.
	Progress io.Writer
	Logger   *slog.Logger
	// databases counts those that were made.
	databases int
}

// Row is one row of the benchmark.
type Row struct {
	// Name is for command lines, What for lists.
	Name, What string
	Run        func(ctx context.Context, b *Bench) (measure.Report, error)
}

// All are the rows in the order in which they run.
func All() []Row {
	return []Row{
		{"engine", "hold 2 seats, then confirm: the engine in this process", Selling},
		{"web", "the same through HTTP", Web},
		{"rush", "one hot showing until it is sold out, and a stadium", Rush},
		{"append", "append to the log, 1 to 64 callers", Appending},
		{"lock", "lock and unlock 3 seats", Locking},
		{"read", "the map of 300 seats by HTTP, with and without 304", Reading},
		{"project", "the projector: how fast, and how far behind", Projecting},
		{"growth", "the engine at 1 to 1,000 showings, and at 100 to 20,000 seats", Growing},
		{"start", "a replica's start with up to 1,000 showings on sale", Starting},
		{"memory", "what one call allocates", Allocating},
	}
}

// rounds is how the contestants of this bench take turns.
func (b *Bench) rounds() measure.Rounds {
	return measure.Rounds{Warmup: 1, Measured: b.Measured, Before: b.Stores.Settle, Told: b.told}
}

func (b *Bench) told(contestant string, round int, s measure.Sample) {
	what := fmt.Sprint("round ", round+1)
	if round < 0 {
		what = "warm-up"
	}
	fmt.Fprintf(b.Progress, "  %-26s %-8s", contestant, what)
	for _, c := range []measure.Column{{Title: "/s", Figure: measure.Rate}, {Title: " p50", Figure: measure.P50, Unit: measure.Seconds}, {Title: " p99", Figure: measure.P99, Unit: measure.Seconds}} {
		fmt.Fprintf(b.Progress, " %12s%s", c.Write(s), c.Title)
	}
	fmt.Fprintln(b.Progress)
}

// database is a new database for a contestant.
func (b *Bench) database(ctx context.Context, name string) (string, error) {
	b.databases++
	return b.Stores.Database(ctx, fmt.Sprintf("%s_%d", name, b.databases))
}

// entrant is a Booker with its name. Ours is the first of them.
type entrant struct {
	name   string
	booker rivals.Booker
}

// entrants opens our engine and all rivals, each on a database of its own. close ends them.
func (b *Bench) entrants(ctx context.Context) (all []entrant, closeAll func(), err error) {
	closeAll = func() {
		for _, e := range all {
			e.booker.Close()
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	own, err := b.engine(ctx, engine.Config{})
	if err != nil {
		return nil, nil, err
	}
	all = append(all, entrant{ours, own})
	for _, design := range b.rivals() {
		url, err := b.database(ctx, design.Key)
		if err != nil {
			return all, nil, err
		}
		rival, err := design.Open(ctx, url, b.Stores.Redis())
		if err != nil {
			return all, nil, fmt.Errorf("%s: %w", design.Name, err)
		}
		all = append(all, entrant{design.Name, rival})
	}
	return all, closeAll, nil
}

// rivals are those of this run: a short one leaves out redsync, which needs two more round trips a seat than redislock
// and was slower in every run.
func (b *Bench) rivals() []rivals.Design {
	all := rivals.All()
	if b.Short {
		all = slices.DeleteFunc(all, func(d rivals.Design) bool { return d.Key == "redsync" })
	}
	return all
}

// engine opens our engine on a database and a prefix of its own.
func (b *Bench) engine(ctx context.Context, cfg engine.Config) (*engine.Engine, error) {
	url, err := b.database(ctx, "aisle")
	if err != nil {
		return nil, err
	}
	cfg.URL, cfg.Prefix, cfg.Redis, cfg.Logger = url, fmt.Sprintf("aisle%d:", b.databases), b.Stores.Redis(), b.Logger
	return engine.Open(ctx, cfg)
}

// ours is the name of our contestant.
const ours = "Aisle"

// newHouse has so many showings with so many seats each.
func newHouse(showings, seats int) rivals.House {
	var h rivals.House
	for range showings {
		h.Showings = append(h.Showings, uuid.New())
	}
	for i := range seats {
		h.Seats = append(h.Seats, fmt.Sprintf("R%03dS%02d", i/20+1, i%20+1)) // sorted as they stand
	}
	return h
}

// count is a number of things, such as "1 caller" and "64 callers".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// metered runs work and puts the processor time used meanwhile into the sample.
func metered(s measure.Sample, work func() error) (time.Duration, error) {
	before, err := measure.ReadCPU()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	after, err := measure.ReadCPU()
	if err != nil {
		return 0, err
	}
	s.CPU(after.Since(before), took)
	return took, nil
}

// readRepo reads a file of the repository.
func (b *Bench) readRepo(path string) (string, error) {
	text, err := os.ReadFile(b.Repo + "/" + path)
	return string(text), err
}
