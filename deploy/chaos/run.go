package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

// errBroken ends the program when an invariant was broken.
var errBroken = errors.New("an invariant was broken")

// place is where a run works, and what it runs.
type place struct {
	Binary   string `default:"bin/aisle" help:"The built aisle." type:"existingfile"`
	Dir      string `default:"/var/tmp/aisle-chaos" help:"Where runs keep their data and logs. PostgreSQL's user must be able to reach it; what failed is left there."`
	Watchers int    `default:"1000" help:"Live maps that are watched (watchers)."`
	Verbose  bool   `short:"v" help:"Say what is done, and when. Default: off."`
}

type runCommand struct {
	place
	Only    []string `help:"Scenarios to run. Default: all." placeholder:"NAME"`
	Short   bool     `help:"Only the short subset. Default: off."`
	Seeds   int      `default:"3" help:"Runs of each scenario, each with its own seed (runs)."`
	Seed    uint64   `help:"The first seed; the others follow it. 0: drawn. Default: 0."`
	Results string   `default:"bin/chaos-results.jsonl" help:"File that each run's report is added to, as a line."`
}

// Run is the command; kong calls it.
func (c *runCommand) Run(ctx context.Context) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1e9) + 1 //nolint:gosec // a seed
	}
	shifted, err := c.shifted(ctx, chosen)
	if err != nil {
		return err
	}
	broken := 0
	for _, s := range chosen {
		for i := range c.Seeds {
			report, err := c.play(ctx, s, shifted, c.Seed+uint64(i))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				// A run without a verdict is no good one, and no reason to leave the others out.
				fmt.Fprintln(os.Stdout, "NO VERDICT:", err)
				broken++
				continue
			}
			if err := add(c.Results, report); err != nil {
				return err
			}
			say(report)
			if !report.OK() {
				broken++
			}
		}
	}
	passed := len(chosen)*c.Seeds - broken
	fmt.Fprintf(os.Stdout, "chaos: %d passed, %d failed\n", passed, broken)
	if broken > 0 {
		return fmt.Errorf("%w in %d runs; their data and logs are under %s", errBroken, broken, c.Dir)
	}
	return nil
}

func (c *runCommand) chosen() ([]scenario.Scenario, error) {
	if len(c.Only) == 0 {
		return slices.DeleteFunc(scenario.All(), func(s scenario.Scenario) bool { return c.Short && !s.Short }), nil
	}
	var chosen []scenario.Scenario
	for _, name := range c.Only {
		s, ok := scenario.Named(name)
		if !ok {
			return nil, fmt.Errorf("there is no scenario %q; see 'chaos list'", name)
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
}

// shifted builds the server with the shifted clock when one of the scenarios needs it.
func (c *runCommand) shifted(ctx context.Context, chosen []scenario.Scenario) (string, error) {
	if !slices.ContainsFunc(chosen, func(s scenario.Scenario) bool { return s.Shifted }) {
		return "", nil
	}
	fmt.Fprintln(os.Stdout, "chaos: building aisle with a clock that can be shifted (minutes, the first time)")
	return fleet.Shifted(ctx, ".", built(c.Binary))
}

// built is where other builds of the server go: beside it.
func built(binary string) string { return filepath.Join(filepath.Dir(binary), "chaos-built") }

func (p *place) play(ctx context.Context, s scenario.Scenario, shifted string, seed uint64) (scenario.Report, error) {
	fmt.Fprintf(os.Stdout, "%-24s seed %-10d ", s.Name, seed)
	return scenario.Play(ctx, scenario.Config{
		Binary: absolute(p.Binary), Shifted: absolute(shifted), Dir: filepath.Join(p.Dir, s.Name+"-"+strconv.FormatUint(seed, 10)),
		Seed: seed, Watchers: p.Watchers, Logger: newLogger(p.Verbose),
	}, s)
}

func absolute(path string) string {
	if path == "" {
		return ""
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// say prints a report's line, and what was broken.
func say(r scenario.Report) {
	word := "ok"
	if !r.OK() {
		word = "BROKEN"
	}
	fmt.Fprintf(os.Stdout, "%-6s %5.1f s: %d operations, %d sales, %d unknown, %d events; sales/s %.0f → %.0f → %.0f; all maps right after %.1f s, %d reconnects, %d gaps\n",
		word, r.Took.Seconds(), r.Operations, r.Sales, r.Unknown, r.Events, r.Before, r.During, r.After,
		r.RightAfter.Round(100*time.Millisecond).Seconds(), r.Reconnects, r.Gaps)
	for i, v := range r.Violations {
		if i == 20 {
			fmt.Fprintf(os.Stdout, "    … and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Fprintf(os.Stdout, "    %s: %s\n", v.Invariant, v.Detail)
	}
}
