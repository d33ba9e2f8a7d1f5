package eventstore

import (
	"errors"
	"log/slog"
	"time"
)

// Config tells a Store how to append. The zero value of each field means its default.
type Config struct {
	// Lanes is how many flushes may be under way at once; a stream always uses the same lane.
	// Default 1, which was fastest: the commits of two lanes wait for the same disk.
	Lanes int
	// MaxBatch is how many requests one flush takes at most. Default 256.
	MaxBatch int
	// Queue is how many requests may wait, over all lanes; more are refused with ErrOverloaded.
	// Default 4096.
	Queue int
	// AppendTimeout bounds one flush, from taking a connection to the commit's answer. Default 5 s.
	AppendTimeout time.Duration
	// LookupTimeout bounds the look-up after a flush whose answer was lost. Default 3 s.
	LookupTimeout time.Duration
	// OnFlush, when set, is told of each flush. It must not block.
	OnFlush func(FlushStats)
	// Logger. Default slog.Default().
	Logger *slog.Logger
}

// FlushStats describes one flush: one call of append_batch.
type FlushStats struct {
	// Lane is the lane's number, from 0.
	Lane int
	// Requests is how many were judged together, Passed how many of them were appended, and Events
	// how many events that made.
	Requests, Passed, Events int
	// Rounds is how many steps the judging took: 1 when no two requests wanted the same thing.
	Rounds int
	// Wait is how long the oldest request had been queued, Took how long the flush itself lasted.
	Wait, Took time.Duration
	// Err is the failure of the flush as a whole; nil when each request got its verdict.
	Err error
}

// WithDefaults returns the config with each zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.Lanes == 0 {
		c.Lanes = 1
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = 256
	}
	if c.Queue == 0 {
		c.Queue = 4096
	}
	if c.AppendTimeout == 0 {
		c.AppendTimeout = 5 * time.Second
	}
	if c.LookupTimeout == 0 {
		c.LookupTimeout = 3 * time.Second
	}
	if c.OnFlush == nil {
		c.OnFlush = func(FlushStats) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says what is wrong with the config, after WithDefaults.
func (c Config) Validate() error {
	var errs []error
	if c.Lanes < 1 || c.Lanes > 64 {
		errs = append(errs, errors.New("eventstore: Lanes must be 1–64"))
	}
	if c.MaxBatch < 1 || c.MaxBatch > 4096 {
		errs = append(errs, errors.New("eventstore: MaxBatch must be 1–4096"))
	}
	if c.Queue < c.Lanes {
		errs = append(errs, errors.New("eventstore: Queue must be at least Lanes"))
	}
	if c.AppendTimeout < 0 || c.LookupTimeout < 0 {
		errs = append(errs, errors.New("eventstore: timeouts must be positive"))
	}
	return errors.Join(errs...)
}
