package client

import (
	"errors"
	"time"
)

// WatchersConfig says how watchers behave; the defaults of its times are the protocol's.
type WatchersConfig struct {
	// Replicas returns the public URLs of the replicas; it is asked before each connection. Required.
	Replicas func() []string

	// Seed decides who begins where, and the jitter. Default 0.
	Seed uint64

	// Backoff is the upper bound of the pause before the first reconnect. Default 1 s.
	Backoff time.Duration

	// MaxBackoff is what Backoff grows to, ×1.5 for each failure. Default 30 s.
	MaxBackoff time.Duration

	// Ping is how often a watcher says that it is there. Default 30 s.
	Ping time.Duration

	// Silence is how long a line may say nothing before it counts as dead. Default 60 s.
	Silence time.Duration

	// Dial is how long a connection and its handshake may take. Default 2 s.
	Dial time.Duration
}

// WithDefaults returns c with its zero fields set to their defaults.
func (c WatchersConfig) WithDefaults() WatchersConfig {
	setDefault(&c.Backoff, time.Second)
	setDefault(&c.MaxBackoff, 30*time.Second)
	setDefault(&c.Ping, 30*time.Second)
	setDefault(&c.Silence, 60*time.Second)
	setDefault(&c.Dial, 2*time.Second)
	return c
}

// Validate says what is wrong with c.
func (c WatchersConfig) Validate() error {
	if c.Replicas == nil {
		return errors.New("watchers: no Replicas to watch")
	}
	if min(c.Backoff, c.MaxBackoff, c.Ping, c.Silence, c.Dial) <= 0 {
		return errors.New("watchers: Backoff, MaxBackoff, Ping, Silence and Dial must be above 0")
	}
	return nil
}
