// Command aislebench measures Aisle against the other ways to do the same, and against what the machine can do at
// most, on real stores that keep what they acknowledge. `make bench` runs it; docs/bench.md is what it writes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"

	"github.com/aislehq/aisle/cmd/aislebench/rows"
)

type commands struct {
	Run   runCommand   `cmd:"" default:"withargs" help:"Run the rows, print them, and write the page."`
	List  listCommand  `cmd:"" help:"List the rows."`
	Rival rivalCommand `cmd:"" hidden:"" help:"Serve a rival by HTTP."`
}

func main() {
	logging.Disable()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	parsed := kong.Parse(&c, kong.Name("aislebench"), kong.Description("Measures Aisle against the other ways to do the same."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "aislebench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

type listCommand struct{}

// Run is the command; kong calls it.
func (*listCommand) Run() error {
	for _, r := range rows.All() {
		if _, err := fmt.Fprintf(os.Stdout, "%-10s %s\n", r.Name, r.What); err != nil {
			return err
		}
	}
	return nil
}
