package realtime

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"
)

// Config holds a Hub's settings. The zero value of a field is its default.
type Config struct {
	// CheckOrigin judges a request that has an Origin header. Default: the Origin's host is the
	// request's own, or the Origin is one of AllowedOrigins. It is never asked about a request
	// without one.
	CheckOrigin func(*http.Request) bool
	// AllowedOrigins are further sites whose pages may connect, as scheme://host or
	// scheme://host:port. Default none. Without effect where CheckOrigin is set.
	AllowedOrigins []string

	// MaxSockets is how many sockets the hub holds at once; more are refused with 503. Default 20,000.
	MaxSockets int
	// MaxSocketsPerAddress is how many sockets one address may hold at once; more are refused with
	// 429. Default 0: off.
	MaxSocketsPerAddress int
	// MaxSubscriptions is how many showings one socket may watch at once. Default 16.
	MaxSubscriptions int
	// MessagesPerSecond is how many messages, WebSocket pings and pongs included, a client may send
	// within any one second. Default 20.
	MessagesPerSecond int
	// MaxMessageBytes is the size of the largest message a client may send. Default 4,096 bytes.
	MaxMessageBytes int64

	// QueueFrames is how many messages may wait for one socket; a client that lets more pile up is
	// closed as slow. Default 128.
	QueueFrames int
	// QueueBytes is how many bytes may wait for one socket. A message that finds nothing waiting is
	// taken whatever its size. Default 1 MiB.
	QueueBytes int
	// Writers is how many goroutines write, each to its own share of the sockets. Default GOMAXPROCS.
	Writers int

	// HandshakeTimeout is how long the answer to the upgrade may take to write. Default 5 s.
	HandshakeTimeout time.Duration
	// WriteTimeout is how long a socket may take to take 16 KiB of what waits for it. Default 10 s.
	WriteTimeout time.Duration
	// GoodbyeTimeout is how long a closing socket has to take its last messages and hang up. Default 2 s.
	GoodbyeTimeout time.Duration
	// IdleTimeout is how long a client may be silent. Default 75 s.
	IdleTimeout time.Duration
	// OpenTimeout is how long one try to open a map may take. Default 5 s.
	OpenTimeout time.Duration
	// CatchUpTimeout is how long a client that has seen more than this server waits for the server
	// to catch up before it is given a snapshot. Default 2 s.
	CatchUpTimeout time.Duration
	// DrainTimeout is how long Run takes to close all sockets once its context ended. Default 5 s.
	DrainTimeout time.Duration
	// ReconnectsPerSecond spreads out the clients that a drain sends away: n sockets are told to come
	// back, each at its own time, over n/ReconnectsPerSecond seconds, but at least over 1 s.
	// Default 1,000, so 5,000 sockets over 5 s.
	ReconnectsPerSecond int

	// Logger takes what an operator should know. Default slog.Default().
	Logger *slog.Logger
	// Metrics are told what happens. Default: nobody is.
	Metrics Metrics
}

// WithDefaults returns the settings with every zero value replaced by its default.
func (c Config) WithDefaults() Config {
	defaultTo(&c.MaxSockets, 20_000)
	defaultTo(&c.MaxSubscriptions, 16)
	defaultTo(&c.MessagesPerSecond, 20)
	defaultTo(&c.MaxMessageBytes, 4096)
	defaultTo(&c.QueueFrames, 128)
	defaultTo(&c.QueueBytes, 1<<20)
	defaultTo(&c.Writers, runtime.GOMAXPROCS(0))
	defaultTo(&c.ReconnectsPerSecond, 1000)
	defaultTo(&c.HandshakeTimeout, 5*time.Second)
	defaultTo(&c.WriteTimeout, 10*time.Second)
	defaultTo(&c.GoodbyeTimeout, 2*time.Second)
	defaultTo(&c.IdleTimeout, 75*time.Second)
	defaultTo(&c.OpenTimeout, 5*time.Second)
	defaultTo(&c.CatchUpTimeout, 2*time.Second)
	defaultTo(&c.DrainTimeout, 5*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.CheckOrigin == nil {
		c.CheckOrigin = originCheck(c.AllowedOrigins)
	}
	c.Metrics = c.Metrics.withDefaults()
	return c
}

// defaultTo sets what was left at zero.
func defaultTo[T ~int | ~int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Validate says what is wrong with settings that have their defaults.
func (c Config) Validate() error {
	var errs []error
	atLeast := func(name string, value, least int64) {
		if value < least {
			errs = append(errs, fmt.Errorf("%s is %d, must be at least %d", name, value, least))
		}
	}
	atLeast("MaxSockets", int64(c.MaxSockets), 1)
	atLeast("MaxSocketsPerAddress", int64(c.MaxSocketsPerAddress), 0)
	atLeast("MaxSubscriptions", int64(c.MaxSubscriptions), 1)
	atLeast("MessagesPerSecond", int64(c.MessagesPerSecond), 1)
	atLeast("MaxMessageBytes", c.MaxMessageBytes, 128)
	atLeast("QueueFrames", int64(c.QueueFrames), 2)
	atLeast("QueueBytes", int64(c.QueueBytes), 1)
	atLeast("Writers", int64(c.Writers), 1)
	atLeast("ReconnectsPerSecond", int64(c.ReconnectsPerSecond), 1)
	positive := func(name string, value time.Duration) {
		if value <= 0 {
			errs = append(errs, fmt.Errorf("%s is %s, must be positive", name, value))
		}
	}
	positive("HandshakeTimeout", c.HandshakeTimeout)
	positive("WriteTimeout", c.WriteTimeout)
	positive("GoodbyeTimeout", c.GoodbyeTimeout)
	positive("IdleTimeout", c.IdleTimeout)
	positive("OpenTimeout", c.OpenTimeout)
	positive("CatchUpTimeout", c.CatchUpTimeout)
	positive("DrainTimeout", c.DrainTimeout)
	for _, origin := range c.AllowedOrigins {
		if !isOrigin(origin) {
			errs = append(errs, fmt.Errorf("AllowedOrigins has %q, must be scheme://host[:port]", origin))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("realtime: invalid settings: %w", errors.Join(errs...))
	}
	return nil
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && strings.EqualFold(s, u.Scheme+"://"+u.Host) &&
		(strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https"))
}
