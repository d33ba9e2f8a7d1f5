package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/eventstore"
)

// appRole is what the servers are to the database: it can read the log, and append to it through its functions.
const appRole = "aisle_app"

//go:embed role.sql
var roleSQL string

// prepareDatabase brings the database to this version, makes the demo cinema where wanted, and returns the
// servers' URL.
func prepareDatabase(ctx context.Context, ownerURL string, demo bool, logger *slog.Logger) (*url.URL, error) {
	password, err := newAppPassword(ctx, ownerURL)
	if err != nil {
		return nil, err
	}
	report, err := eventstore.Migrate(ctx, ownerURL, appRole)
	if err != nil {
		return nil, err
	}
	if report.From != report.To {
		logger.InfoContext(ctx, "migrated the database", slog.Int64("from", report.From), slog.Int64("to", report.To))
	}
	if demo {
		if err := makeDemo(ctx, ownerURL, logger); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(ownerURL)
	if err != nil {
		return nil, fmt.Errorf("the servers' URL: %w", err)
	}
	u.User = url.UserPassword(appRole, password)
	return u, nil
}

// newAppPassword gives the servers' role a new password, which is nowhere but in their environment.
func newAppPassword(ctx context.Context, ownerURL string) (string, error) {
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return "", fmt.Errorf("the servers' role: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	password := rand.Text()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('aisle.role', $1, true), set_config('aisle.password', $2, true)", appRole, password); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, roleSQL)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("the servers' role: %w", err)
	}
	return password, nil
}

func makeDemo(ctx context.Context, ownerURL string, logger *slog.Logger) error {
	return withLog(ctx, ownerURL, logger, func(pool *pgxpool.Pool, log *eventstore.Store) error {
		created, err := catalogue.Demo(ctx, pool, log, time.Now())
		if err != nil {
			return fmt.Errorf("demo cinema: %w", err)
		}
		if created {
			logger.InfoContext(ctx, "made the demo cinema")
		}
		return nil
	})
}

// withLog opens the log for as long as do needs it.
func withLog(ctx context.Context, ownerURL string, logger *slog.Logger, do func(*pgxpool.Pool, *eventstore.Store) error) error {
	pool, err := eventstore.NewPool(ctx, ownerURL, eventstore.PoolConfig{StatementTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer pool.Close()
	log, err := eventstore.Open(ctx, pool, eventstore.Config{Logger: logger})
	if err != nil {
		return err
	}
	return do(pool, log)
}
