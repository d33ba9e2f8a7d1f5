package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// maxBody is the most bytes of a request's body: 64 KiB.
const maxBody = 64 << 10

// Limit is how often something may be done: a bucket that holds Burst and is filled with PerSecond.
// The zero value is no limit.
type Limit struct {
	// PerSecond is the sustained rate; 0: no limit.
	PerSecond float64
	// Burst is how many may be done at once; at least 1 unless the limit is off.
	Burst int
}

func (l Limit) off() bool { return l.PerSecond == 0 }

func (l Limit) validate(name string) error {
	if l.PerSecond < 0 || (!l.off() && l.Burst < 1) {
		return fmt.Errorf("api: %s: a limit's rate must not be negative and its burst at least 1", name)
	}
	return nil
}

// Config is how a replica meets the public. The zero value of a field means its default.
type Config struct {
	// PublicURL is how browsers reach this site, such as https://tickets.example.org. Default: whatever host
	// they ask for, by http unless the request came by TLS.
	PublicURL string
	// AllowedOrigins are other sites whose pages may open the live socket and send commands. Default: none.
	AllowedOrigins []string
	// TrustedProxies are those whose X-Forwarded-For and X-Forwarded-Proto are believed. Default: none.
	TrustedProxies []netip.Prefix
	// Commands limits each session. Default: off.
	Commands Limit
	// Sessions limits the sessions that a network address starts and, apart from those, the tokens from
	// there that nobody knows. Default: off.
	Sessions Limit
	// MaxCommands is how many commands, of all sessions, are worked on at once. Four times as many may wait, a second at
	// most; the rest is refused with 503 and Retry-After. Default: 0, no bound.
	MaxCommands int
	// AddressKey keys the hash under which a client's network address is kept with its holds, for the limit on
	// seats per address. Default: none, and no address is kept.
	AddressKey []byte
	// RequestTimeout bounds the work on one request; live sockets are exempt. Default 10 s.
	RequestTimeout time.Duration
	// Version is the program's, for the OpenAPI document. Default "dev".
	Version string
	// Logger gets the access log and what goes wrong. Default: slog.Default().
	Logger *slog.Logger
	// Now is the replica's clock. Default: time.Now.
	Now func() time.Time
}

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 10 * time.Second
	}
	if c.Version == "" {
		c.Version = "dev"
	}
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
	for _, text := range append([]string{c.PublicURL}, c.AllowedOrigins...) {
		if text == "" {
			continue
		}
		if _, err := originOf(text); err != nil {
			return err
		}
	}
	if c.RequestTimeout < 0 {
		return errors.New("api: RequestTimeout must not be negative")
	}
	if c.MaxCommands < 0 {
		return errors.New("api: MaxCommands must not be negative")
	}
	return errors.Join(c.Commands.validate("Commands"), c.Sessions.validate("Sessions"))
}

// publicHTTPS says that browsers reach this site by https, whatever reaches this process.
func (c Config) publicHTTPS() bool { return strings.HasPrefix(c.PublicURL, "https://") }

// originOf is the origin of a web address as browsers write it.
func originOf(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "" || u.User != nil {
		return "", fmt.Errorf("api: %q is not a web address without a path", text)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// NewServer is an HTTP server for the handler with limits on how long a client may take. Live sockets
// have their own.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
