package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rows"
	"github.com/aislehq/aisle/cmd/aislebench/stores"
)

type runCommand struct {
	Only     []string      `help:"Rows to run. Default: all." placeholder:"NAME"`
	Short    bool          `help:"A quick look: short rounds, and smaller sizes; under three minutes in all. Default: off."`
	Measured int           `default:"3" help:"Rounds of each contestant that count, after one that doesn't (rounds, at least 3)."`
	Round    time.Duration `default:"5s" help:"How long a round lasts where it isn't over by itself (duration). With --short: 500ms."`
	Dir      string        `default:"/var/tmp/aisle-bench" help:"Where the stores keep their data, on a real disk. PostgreSQL's user must be able to reach it; it is removed at the end."`
	Repo     string        `default:"." help:"The repository." type:"existingdir"`
	Binary   string        `default:"bin/aisle" help:"The built aisle."`
	Page     string        `default:"" help:"File to write the page to. Empty: none." placeholder:"docs/bench.md"`
	Profile  string        `default:"" help:"Directory for a CPU profile of each row. Empty: none."`
	Verbose  bool          `short:"v" help:"Show what the parts log. Default: off."`
}

// shortRound is a round's length with --short.
const shortRound = 500 * time.Millisecond

// Validate is called by kong.
func (c *runCommand) Validate() error {
	if c.Measured < 3 {
		return fmt.Errorf("--measured must be at least 3, not %d: a median needs them", c.Measured)
	}
	if c.Round < 100*time.Millisecond {
		return fmt.Errorf("--round must be at least 100ms, not %s", c.Round)
	}
	return nil
}

// Run is the command; kong calls it.
func (c *runCommand) Run(ctx context.Context) (err error) {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	level := slog.LevelError
	if c.Verbose {
		level = slog.LevelInfo
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	s, err := stores.Open(ctx, c.Dir, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	b := &rows.Bench{Stores: s, Short: c.Short, Measured: c.Measured, Round: c.Round, Repo: c.Repo, Binary: c.Binary, Progress: os.Stderr, Logger: logger}
	if c.Short {
		b.Round = shortRound
	}
	page := &page{command: c}
	if page.versions, err = s.Versions(ctx); err != nil {
		return err
	}
	for _, row := range chosen {
		if err := c.row(ctx, b, row, page); err != nil {
			return fmt.Errorf("%s: %w", row.Name, err)
		}
	}
	return page.finish()
}

func (c *runCommand) chosen() ([]rows.Row, error) {
	all := rows.All()
	if len(c.Only) == 0 {
		return all, nil
	}
	var chosen []rows.Row
	for _, name := range c.Only {
		i := slices.IndexFunc(all, func(r rows.Row) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q: see `aislebench list`", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (c *runCommand) row(ctx context.Context, b *rows.Bench, row rows.Row, p *page) error {
	fmt.Fprintf(os.Stderr, "%s: %s\n", row.Name, row.What)
	stop, err := c.profile(row.Name)
	if err != nil {
		return err
	}
	began := time.Now()
	report, err := row.Run(ctx, b)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	var text bytes.Buffer
	report.Markdown(&text)
	if _, err := text.WriteTo(os.Stdout); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s took %s\n\n", row.Name, time.Since(began).Round(time.Second))
	p.reports = append(p.reports, report)
	runtime.GC() // the next row doesn't pay for what this one left
	return nil
}

// page is docs/bench.md in the making.
type page struct {
	command  *runCommand
	versions string
	reports  []measure.Report
}

// finish writes the page, when one is wanted.
func (p *page) finish() error {
	if p.command.Page == "" {
		return nil
	}
	var text bytes.Buffer
	p.write(&text)
	return os.WriteFile(p.command.Page, text.Bytes(), 0o644) //nolint:gosec // A page of the documentation: everybody may read it.
}
