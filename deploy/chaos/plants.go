package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/plant"
	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

// tries is how often a planted bug may be run until the judge has seen it: a race needs its moment.
const tries = 5

type plantsCommand struct {
	place
	Only    []string `help:"Planted bugs to build. Default: all." placeholder:"NAME"`
	Seed    uint64   `help:"The first seed. 0: drawn. Default: 0."`
	Results string   `default:"bin/chaos-results.jsonl" help:"File that each run's report is added to, as a line."`
}

// catch is the scenario that shows a planted bug, and the invariants of which one must be broken.
type catch struct {
	scenario   string
	invariants []string
}

// catches are those of all planted bugs, by their names.
func catches() map[string]catch {
	return map[string]catch{
		"guard":    {"redis-killed", []string{"no two owners"}},
		"epoch":    {"leader-stopped", []string{"projected once", "never back"}},
		"gap":      {"pubsub-killed", []string{"watchers right"}},
		"position": {"commits-slow", []string{"watchers right"}},
	}
}

// Run is the command; kong calls it.
func (c *plantsCommand) Run(ctx context.Context) error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1e9) + 1 //nolint:gosec // a seed
	}
	missed, caught := 0, 0
	for _, p := range plant.All() {
		if len(c.Only) > 0 && !slices.Contains(c.Only, p.Name) {
			continue
		}
		found, err := c.try(ctx, p)
		if err != nil {
			return err
		}
		if found {
			caught++
		} else {
			missed++
		}
	}
	fmt.Fprintf(os.Stdout, "planted bugs caught: %d passed, %d failed\n", caught, missed)
	if missed > 0 {
		return fmt.Errorf("the judge did not see %d planted bugs", missed)
	}
	return nil
}

func (c *plantsCommand) try(ctx context.Context, p plant.Plant) (bool, error) {
	began := time.Now()
	binary, err := plant.Build(ctx, ".", built(c.Binary), p)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(os.Stdout, "planted %s: %s (built in %.0f s)\n", p.Name, p.What, time.Since(began).Seconds())
	shown := catches()[p.Name]
	s, ok := scenario.Named(shown.scenario)
	if !ok {
		return false, fmt.Errorf("there is no scenario %q for the planted bug %q", shown.scenario, p.Name)
	}
	planted := c.place
	planted.Binary = binary
	for i := range tries {
		report, err := planted.play(ctx, s, "", c.Seed+uint64(i))
		if err != nil {
			return false, err
		}
		say(report)
		report.Plant = p.Name
		if err := add(c.Results, report); err != nil {
			return false, err
		}
		for _, invariant := range shown.invariants {
			if report.Broken(invariant) {
				fmt.Fprintf(os.Stdout, "planted %s: caught by %q at try %d\n", p.Name, invariant, i+1)
				return true, os.RemoveAll(c.Dir)
			}
		}
	}
	fmt.Fprintf(os.Stdout, "planted %s: NOT caught in %d tries\n", p.Name, tries)
	return false, nil
}
