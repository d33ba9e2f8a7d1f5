package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PoolConfig tells NewPool how many connections to keep and how long they may be waited for. The
// zero value of each field means its default.
type PoolConfig struct {
	// MaxConns is the most connections. Default 16. A pool_max_conns in the URL is not looked at.
	MaxConns int
	// ConnectTimeout bounds one attempt to connect. Default 2 s.
	ConnectTimeout time.Duration
	// StatementTimeout makes the server give up a statement. Default 4 s: less than
	// Config.AppendTimeout, so that the server's clear "nothing was done" comes first.
	StatementTimeout time.Duration
	// LockTimeout makes the server give up waiting for a row. Default 2 s.
	LockTimeout time.Duration
}

// WithDefaults returns the config with each zero field set to its default.
func (c PoolConfig) WithDefaults() PoolConfig {
	if c.MaxConns == 0 {
		c.MaxConns = 16
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 2 * time.Second
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 4 * time.Second
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = 2 * time.Second
	}
	return c
}

// Validate says what is wrong with the config, after WithDefaults.
func (c PoolConfig) Validate() error {
	var errs []error
	if c.MaxConns < 1 || c.MaxConns > 10_000 {
		errs = append(errs, errors.New("eventstore: MaxConns must be 1–10000"))
	}
	if c.ConnectTimeout < 0 || c.StatementTimeout < 0 || c.LockTimeout < 0 {
		errs = append(errs, errors.New("eventstore: pool timeouts must be positive"))
	}
	return errors.Join(errs...)
}

// errURL quotes nothing of the URL: a password with an unescaped slash, say, would be read as something else, and told.
var errURL = errors.New("eventstore: the database URL is not of the form postgres://user:password@host:port/database?sslmode=…, " +
	"or names a file that can't be read; in user and password, what is neither letter nor digit is written %XX")

// CheckURL says what is wrong with a database's URL, without telling the password that may be in it.
func CheckURL(url string) error {
	if _, err := pgx.ParseConfig(url); err != nil {
		return errURL
	}
	return nil
}

// NewPool makes a pool whose connections have the settings that the store relies on. It connects
// lazily: a server that is down is not an error here.
func NewPool(ctx context.Context, url string, cfg PoolConfig) (*pgxpool.Pool, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	pc.MaxConns = int32(cfg.MaxConns) //nolint:gosec // Validate bounds it
	pc.PingTimeout = cfg.ConnectTimeout
	pc.MaxConnLifetimeJitter = 5 * time.Minute
	pc.ConnConfig.ConnectTimeout = cfg.ConnectTimeout
	params := pc.ConnConfig.RuntimeParams
	params["default_transaction_isolation"] = "read committed"
	params["statement_timeout"] = milliseconds(cfg.StatementTimeout)
	params["lock_timeout"] = milliseconds(cfg.LockTimeout)
	params["idle_in_transaction_session_timeout"] = milliseconds(10 * time.Second)
	params["timezone"] = "UTC"
	if params["application_name"] == "" {
		params["application_name"] = "aisle"
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("eventstore: pool: %w", err)
	}
	return pool, nil
}

// milliseconds writes a span the way PostgreSQL's settings take it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
