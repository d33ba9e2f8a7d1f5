package main

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9/logging"

	"github.com/aislehq/aisle/cmd/aisle/app"
)

// readyLine is what a replica prints before its address once it answers.
const readyLine = "aisle: listening on "

type serveCommand struct {
	app.Config `embed:""`
}

// Run is the command; kong calls it.
func (c *serveCommand) Run(ctx context.Context) error {
	logger, err := newLogger(c.LogLevel)
	if err != nil {
		return err
	}
	logging.Disable() // the client's own log has a line for each failed dial, past ours
	replica, err := app.New(c.Config, version, logger, func(url string) {
		fmt.Fprintln(os.Stdout, readyLine+url)
	})
	if err != nil {
		return err
	}
	return replica.Run(ctx)
}
