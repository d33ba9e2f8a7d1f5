// Command aisle is a box office for cinemas: everything on one machine (up), one replica against stores that
// exist (serve), and the tools that bring a database to this version (migrate) and put a cinema to try things on
// into it (demo).
//
// It exits with 0 after SIGTERM or SIGINT, with 2 on wrong flags, and with 1 on everything else, each time with
// one line on standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// version names the program; the linker writes it.
var version = "dev"

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// commands is the command line.
type commands struct {
	Up      upCommand        `cmd:"" help:"Run everything on this machine: the stores, and servers on top of them."`
	Serve   serveCommand     `cmd:"" help:"Run one replica against PostgreSQL, Redis and etcd that exist."`
	Migrate migrateCommand   `cmd:"" help:"Bring a database to this version."`
	Demo    demoCommand      `cmd:"" help:"Make a cinema to try things on in a database that 'aisle migrate' has prepared."`
	Version kong.VersionFlag `help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	// A second signal does what it does by default: it ends us at once.
	context.AfterFunc(ctx, stop)

	parser, err := kong.New(
		&commands{},
		kong.Name("aisle"),
		kong.Description("A self-hosted box office for cinemas."),
		kong.Vars{"version": version, "data": defaultData()},
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return complain(exitFailure, err)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return complain(exitUsage, err)
	}
	err = command.Run()
	if ended, ok := errors.AsType[*replicaError](err); ok {
		return ended.code // the replica has complained itself
	}
	if err != nil {
		return complain(exitFailure, err)
	}
	return 0
}

func complain(code int, err error) int {
	fmt.Fprintln(os.Stderr, "aisle: "+oneLine(err))
	return code
}

// oneLine joins the lines of an error: those of libraries may have several.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// newLogger writes to standard error, which leaves standard output to the lines that programs read.
func newLogger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}
