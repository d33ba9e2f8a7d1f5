package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config says how the locks are kept. The zero value is a good one.
type Config struct {
	// Prefix stands before every key, so that several installations can share one Redis.
	// It must not contain braces: they would move the keys' cluster slot. Default "aisle:".
	Prefix string
	// Timeout is how long one call waits for Redis, its time in the queue included, before it
	// ends in ErrUnavailable. Default 250 ms.
	Timeout time.Duration
	// MaxBatch is the greatest number of calls that travel in one pipeline. Default 256.
	MaxBatch int
	// MaxQueue is the greatest number of calls that wait for one Redis server; those above it
	// end at once in ErrUnavailable. Default 4096.
	MaxQueue int
	// ProbeEvery is how often a call is let through to a Redis server that does not answer, to
	// find out whether it is back; all others end at once in ErrUnavailable. Default 1 s.
	ProbeEvery time.Duration
	// Observe, when not nil, hears of every call when it ends: for metrics. It must not block.
	Observe func(Observation)
}

// Observation is what Config.Observe hears of one call.
type Observation struct {
	// Op is acquire, replace, renew or release.
	Op string
	// Outcome is ok, taken, showing_locked, not_held, unavailable, canceled or error.
	Outcome string
	// Took is how long the caller waited.
	Took time.Duration
}

// Limits that are no settings: they bound what one script touches.
const (
	// MaxSeats is the greatest number of seats in one request.
	MaxSeats = 1000
	// MaxNested is the greatest number of acquisitions (request ids) that one owner can have
	// on one seat at a time.
	MaxNested = 64
	// MaxTTL is the longest life of a lock.
	MaxTTL = 30 * 24 * time.Hour
)

// WithDefaults returns the config with each field that was left out at its default.
func (c Config) WithDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "aisle:"
	}
	if c.Timeout == 0 {
		c.Timeout = 250 * time.Millisecond
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = 256
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = 4096
	}
	if c.ProbeEvery == 0 {
		c.ProbeEvery = time.Second
	}
	return c
}

// Validate says what is wrong with the config, all at once.
func (c Config) Validate() error {
	var errs []error
	if strings.ContainsAny(c.Prefix, "{}") {
		errs = append(errs, fmt.Errorf("lock: prefix %q contains a brace", c.Prefix))
	}
	if c.Timeout < time.Millisecond {
		errs = append(errs, fmt.Errorf("lock: timeout %v is below 1 ms", c.Timeout))
	}
	if c.MaxBatch < 1 {
		errs = append(errs, fmt.Errorf("lock: a batch of at most %d calls", c.MaxBatch))
	}
	if c.MaxQueue < 1 {
		errs = append(errs, fmt.Errorf("lock: a queue of at most %d calls", c.MaxQueue))
	}
	if c.ProbeEvery < time.Millisecond {
		errs = append(errs, fmt.Errorf("lock: a probe every %v", c.ProbeEvery))
	}
	return errors.Join(errs...)
}
