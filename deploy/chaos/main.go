// Command chaos breaks a running Aisle on purpose while clients buy, and judges what became of it. `make chaos` is all of
// it; docs/proof.md is what it writes.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"

	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

type commands struct {
	Run    runCommand    `cmd:"" help:"Run scenarios, and write what became of them into a file of results."`
	Plants plantsCommand `cmd:"" help:"Build Aisle with a bug, for each planted bug, and see that the judge finds it."`
	Soak   soakCommand   `cmd:"" help:"Let clients buy for a long time, and see that memory, goroutines and descriptors stay flat."`
	Table  tableCommand  `cmd:"" help:"Write docs/proof.md from a file of results."`
	List   listCommand   `cmd:"" help:"List the scenarios."`
}

func main() {
	logging.Disable() // the Redis client tells of each connection that can't be had, and here that is what we do
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	parsed := kong.Parse(&c, kong.Name("chaos"), kong.Description("Breaks a running Aisle on purpose while clients buy, and judges what became of it."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

type listCommand struct{}

// Run is the command; kong calls it.
func (*listCommand) Run() error {
	var text strings.Builder
	for _, s := range scenario.All() {
		fmt.Fprintf(&text, "%-24s %s\n", s.Name, s.What)
	}
	_, err := os.Stdout.WriteString(text.String())
	return err
}

func newLogger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
