package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/cmd/aisle/app"
	"github.com/aislehq/aisle/eventstore"
)

// retryEvery is the pause between attempts to reach a database that is only just starting.
const retryEvery = 200 * time.Millisecond

type migrateCommand struct {
	PostgresURL string `name:"postgres-url" env:"AISLE_POSTGRES_URL" required:"" placeholder:"URL" help:"PostgreSQL, as the owner of the schema."`
	AppRole     string `name:"app-role" env:"AISLE_APP_ROLE" placeholder:"NAME" help:"Role that exists and gets just the grants that 'aisle serve' needs. Empty: no grants."`
}

// Validate is called by kong.
func (c *migrateCommand) Validate() error {
	if err := eventstore.CheckURL(c.PostgresURL); err != nil {
		return fmt.Errorf("--postgres-url: %w", err)
	}
	return nil
}

// Run is the command; kong calls it.
func (c *migrateCommand) Run(ctx context.Context) error {
	if err := waitForPostgres(ctx, c.PostgresURL); err != nil {
		return err
	}
	report, err := eventstore.Migrate(ctx, c.PostgresURL, c.AppRole)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, report)
	return nil
}

// waitForPostgres tries for as long as a server does at its start.
func waitForPostgres(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, app.StartTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			return conn.Close(ctx)
		}
		if !pause(ctx, retryEvery) {
			return fmt.Errorf("can't reach PostgreSQL (--postgres-url) within %s: %w", app.StartTimeout, err)
		}
	}
}
