package seatmap

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// ProjectorConfig are the Projector's settings.
type ProjectorConfig struct {
	// Prefix stands before every key and channel in Redis. Default DefaultPrefix.
	Prefix string
	// RefreshEvery is how often the snapshots get the lease's time to live, and are written anew where
	// Redis lost them. It must be well below the lease's. Default 1 s.
	RefreshEvery time.Duration
	// SweepEvery is how often Sweep runs at least. Default 1 s.
	SweepEvery time.Duration
	// MaxStates is how many showings' states are kept in memory; the others are loaded again when they
	// change. Default 1024.
	MaxStates int
	// Timeout is how long Redis, and how long the log, may take for one call. Default 2 s.
	Timeout time.Duration
	// Page is how many events are read at once. Default 1000.
	Page int
	// LockKey is the Redis key of the hash that has a showing's locks: seats' codes to values that begin
	// with the owning booking's UUID. It must be in the showing's cluster slot. Default: locks are left alone.
	LockKey func(showing uuid.UUID) string
	// Sweep expires holds that have run out and says how many. Default: nothing is swept.
	Sweep func(ctx context.Context) (int, error)
	// OnSummary is told where a showing stands: at the term's start and after each change. It must not
	// block. Default: nobody is told.
	OnSummary func(showing uuid.UUID, summary Summary)
	// OnWrite is told of each write to Redis: its outcome ("ok", "epoch", "older", "odd" or "error") and
	// how old its latest event was, 0 when it was written anew without one. It must not block.
	// Default: nobody is told.
	OnWrite func(outcome string, lag time.Duration)
	// Logger. Default slog.Default().
	Logger *slog.Logger
}

// Summary is where a showing stands.
type Summary struct {
	// Seq is the showing's, Available how many of its seats are available at that seq.
	Seq       int64
	Available int
	// Epoch is that of the term that says so.
	Epoch int64
}

// WithDefaults fills in what is zero.
func (c ProjectorConfig) WithDefaults() ProjectorConfig {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.RefreshEvery == 0 {
		c.RefreshEvery = time.Second
	}
	if c.SweepEvery == 0 {
		c.SweepEvery = time.Second
	}
	if c.MaxStates == 0 {
		c.MaxStates = 1024
	}
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Second
	}
	if c.Page == 0 {
		c.Page = 1000
	}
	if c.LockKey == nil {
		c.LockKey = func(uuid.UUID) string { return "" }
	}
	if c.Sweep == nil {
		c.Sweep = func(context.Context) (int, error) { return 0, nil }
	}
	if c.OnSummary == nil {
		c.OnSummary = func(uuid.UUID, Summary) {}
	}
	if c.OnWrite == nil {
		c.OnWrite = func(string, time.Duration) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says what is wrong with the settings.
func (c ProjectorConfig) Validate() error {
	if c.RefreshEvery <= 0 || c.SweepEvery <= 0 || c.Timeout <= 0 {
		return errors.New("seatmap: durations must be positive")
	}
	if c.MaxStates < 1 || c.Page < 2 {
		return errors.New("seatmap: states must be positive, and a page more than one event")
	}
	return nil
}
