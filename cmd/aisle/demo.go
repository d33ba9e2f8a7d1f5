package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/eventstore"
)

type demoCommand struct {
	PostgresURL string `name:"postgres-url" env:"AISLE_POSTGRES_URL" required:"" placeholder:"URL" help:"PostgreSQL, as the owner of the schema."`
	Showings    int    `name:"showings" env:"AISLE_SHOWINGS" default:"0" help:"Make a trial house for load tests instead, with so many showings on sale (showings, 1 to 5000). 0: the demo cinema of 'aisle up --demo'."`
	Rows        int    `name:"rows" env:"AISLE_ROWS" default:"12" help:"Rows of the trial house (rows, 1 to 200), named A to Z, AA and so on."`
	SeatsPerRow int    `name:"seats-per-row" env:"AISLE_SEATS_PER_ROW" default:"20" help:"Seats in each row of the trial house (seats, 1 to 200)."`
	LogLevel    string `name:"log-level" env:"AISLE_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least important kind of log line to write: debug, info, warn or error."`
}

// Help is what --help adds.
func (*demoCommand) Help() string {
	return "What is there already stays as it is: a repeat makes nothing. Trial houses of different sizes stand side by side."
}

// Validate is called by kong.
func (c *demoCommand) Validate() error {
	if err := eventstore.CheckURL(c.PostgresURL); err != nil {
		return fmt.Errorf("--postgres-url: %w", err)
	}
	for _, bound := range []struct {
		flag            string
		value, min, max int
	}{
		{"--showings", c.Showings, 0, catalogue.MaxTrialShowings},
		{"--rows", c.Rows, 1, catalogue.MaxTrialRows},
		{"--seats-per-row", c.SeatsPerRow, 1, catalogue.MaxTrialNumbers},
	} {
		if bound.value < bound.min || bound.value > bound.max {
			return fmt.Errorf("%s must be between %d and %d, not %d", bound.flag, bound.min, bound.max, bound.value)
		}
	}
	return nil
}

// Run is the command; kong calls it.
func (c *demoCommand) Run(ctx context.Context) error {
	logger, err := newLogger(c.LogLevel)
	if err != nil {
		return err
	}
	if err := waitForPostgres(ctx, c.PostgresURL); err != nil {
		return err
	}
	return withLog(ctx, c.PostgresURL, logger, func(pool *pgxpool.Pool, log *eventstore.Store) error {
		return c.create(ctx, pool, log)
	})
}

func (c *demoCommand) create(ctx context.Context, pool *pgxpool.Pool, log *eventstore.Store) error {
	what, create := "the demo cinema", catalogue.Demo
	if c.Showings > 0 {
		house := catalogue.TrialHouse{Showings: c.Showings, Rows: c.Rows, SeatsPerRow: c.SeatsPerRow}
		what = fmt.Sprintf("a trial house (showings: %d; seats: %d, in %d rows of %d)", c.Showings, c.Rows*c.SeatsPerRow, c.Rows, c.SeatsPerRow)
		create = house.Make
	}
	created, err := create(ctx, pool, log, time.Now())
	if err != nil {
		return err
	}
	if !created {
		fmt.Fprintln(os.Stdout, "there already: "+what)
		return nil
	}
	fmt.Fprintln(os.Stdout, "made "+what)
	return nil
}
