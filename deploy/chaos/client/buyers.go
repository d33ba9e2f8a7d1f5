package client

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// Buyers are customers who buy without end, each in a closed loop: one command after the other.
type Buyers struct {
	n    int
	cfg  BuyersConfig
	rec  *history.Recorder
	api  *API
	seen violations
}

// NewBuyers returns n buyers who record what they did in rec. They begin with Run.
func NewBuyers(n int, cfg BuyersConfig, rec *history.Recorder) (*Buyers, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("buyers: %d of them", n)
	}
	return &Buyers{n: n, cfg: cfg, rec: rec, api: NewAPI()}, nil
}

// Run buys until ctx ends and every command in flight is recorded. It returns an error only if nothing was ever on sale.
func (b *Buyers) Run(ctx context.Context) error {
	defer b.api.Close()
	houses, err := programme(ctx, b.api, b.cfg.Replicas)
	if err != nil {
		return fmt.Errorf("buyers: %w", err)
	}
	var all errgroup.Group
	for number := range b.n {
		all.Go(func() error {
			newBuyer(b, number, houses).run(ctx)
			return nil
		})
	}
	return all.Wait()
}

// Violations returns what the buyers have seen so far that cannot be right.
func (b *Buyers) Violations() []Violation { return b.seen.all() }
