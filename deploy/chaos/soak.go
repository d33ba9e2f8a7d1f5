package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

type soakCommand struct {
	place
	For     time.Duration `default:"1h" help:"How long clients buy (duration)."`
	Seed    uint64        `help:"The seed. 0: drawn. Default: 0."`
	Results string        `default:"bin/chaos-results.jsonl" help:"File that the report is added to, as a line."`
}

// Run is the command; kong calls it.
func (c *soakCommand) Run(ctx context.Context) error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1e9) + 1 //nolint:gosec // a seed
	}
	report, err := c.play(ctx, scenario.Soak(c.For), "", c.Seed)
	if err != nil {
		return err
	}
	say(report)
	if err := add(c.Results, report); err != nil {
		return err
	}
	if !report.OK() {
		return fmt.Errorf("%w; data and logs are under %s", errBroken, c.Dir)
	}
	fmt.Fprintln(os.Stdout, "soak: 1 passed, 0 failed")
	return nil
}
