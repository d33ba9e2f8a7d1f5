package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// longestCache is how long a replica may go on believing in a session that was ended elsewhere.
const longestCache = 5 * time.Second

// Config is how sessions are kept. The zero value of a field means its default.
type Config struct {
	// IdleFor is how long a session lives unused. Default 30 days.
	IdleFor time.Duration
	// CacheFor is how long an answer of PostgreSQL about a token is believed. Default and most: 5 s.
	CacheFor time.Duration
	// StaleFor is how long a session that was known is believed while PostgreSQL is gone. Default 30 min.
	StaleFor time.Duration
	// MaxCached is how many sessions are remembered. Default 100,000.
	MaxCached int
	// MaxUnknown is how many unknown tokens are remembered. Default 20,000.
	MaxUnknown int
	// MaxLookups is how many queries about tokens run at once. Default 4.
	MaxLookups int
	// QueryTimeout bounds one query, with the wait for its turn. Default 2 s.
	QueryTimeout time.Duration
	// RecheckEvery is how often the sessions of open sockets are asked about. Default 3 s.
	RecheckEvery time.Duration
	// PurgeEvery is how often old sessions are removed. Default 1 h.
	PurgeEvery time.Duration
	// Logger gets what goes wrong. Default: slog.Default().
	Logger *slog.Logger
	// Now is the replica's clock, for the memories only. Default: time.Now.
	Now func() time.Time
}

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	setDefault(&c.IdleFor, 30*24*time.Hour)
	setDefault(&c.CacheFor, longestCache)
	setDefault(&c.StaleFor, 30*time.Minute)
	setDefault(&c.MaxCached, 100_000)
	setDefault(&c.MaxUnknown, 20_000)
	setDefault(&c.MaxLookups, 4)
	setDefault(&c.QueryTimeout, 2*time.Second)
	setDefault(&c.RecheckEvery, 3*time.Second)
	setDefault(&c.PurgeEvery, time.Hour)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate says what can't be, after WithDefaults.
func (c Config) Validate() error {
	switch {
	case c.IdleFor < time.Minute:
		return fmt.Errorf("auth: IdleFor is %s, want at least a minute", c.IdleFor)
	case c.CacheFor < 0 || c.CacheFor > longestCache:
		return fmt.Errorf("auth: CacheFor is %s, want at most %s", c.CacheFor, longestCache)
	case c.StaleFor < c.CacheFor:
		return fmt.Errorf("auth: StaleFor is %s, want at least CacheFor", c.StaleFor)
	case c.MaxCached < 1 || c.MaxUnknown < 1 || c.MaxLookups < 1:
		return errors.New("auth: MaxCached, MaxUnknown and MaxLookups must be positive")
	case c.QueryTimeout <= 0 || c.RecheckEvery <= 0 || c.PurgeEvery <= 0:
		return errors.New("auth: QueryTimeout, RecheckEvery and PurgeEvery must be positive")
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
