package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"time"
)

// Config is one replica's settings: the flags of `aisle serve`. Each flag has an environment variable,
// AISLE_ and its name in capitals. Durations are written like 10m or 300ms.
type Config struct {
	PostgresURL   string   `name:"postgres-url" env:"AISLE_POSTGRES_URL" required:"" placeholder:"URL" help:"PostgreSQL, as the application's own role (see 'aisle migrate --app-role')."`
	RedisURL      string   `name:"redis-url" env:"AISLE_REDIS_URL" placeholder:"URL" help:"Redis: redis:// (single), redis+sentinel:// or redis+cluster://. Empty: run without, slower."`
	EtcdEndpoints []string `name:"etcd-endpoints" env:"AISLE_ETCD_ENDPOINTS" placeholder:"URL,…" help:"etcd's client addresses. Empty: run without a leader."`

	Listen         string   `name:"listen" env:"AISLE_LISTEN" default:"127.0.0.1:8080" help:"Public address and port."`
	OpsListen      string   `name:"ops-listen" env:"AISLE_OPS_LISTEN" default:"127.0.0.1:9090" help:"Address and port of health checks and metrics. Never make it public."`
	PublicURL      string   `name:"public-url" env:"AISLE_PUBLIC_URL" placeholder:"URL" help:"How browsers reach this site, such as https://tickets.example.org. Empty: http and whatever host they ask for."`
	AllowedOrigins []string `name:"allowed-origins" env:"AISLE_ALLOWED_ORIGINS" placeholder:"ORIGIN,…" help:"Other sites whose pages may open the live socket and send commands, such as https://www.example.org."`
	TrustedProxies []string `name:"trusted-proxies" env:"AISLE_TRUSTED_PROXIES" placeholder:"CIDR,…" help:"Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, as addresses or networks."`
	Advertise      string   `name:"advertise" env:"AISLE_ADVERTISE" placeholder:"URL" help:"This replica's address in the registry. Empty: made from --listen."`

	HoldFor              time.Duration `name:"hold-for" env:"AISLE_HOLD_FOR" default:"10m" help:"How long a hold lasts from its first seat (duration)."`
	MaxSeats             int           `name:"max-seats" env:"AISLE_MAX_SEATS" default:"10" help:"Most seats in a booking (seats)."`
	MaxSeatsPerAddress   int           `name:"max-seats-per-address" env:"AISLE_MAX_SEATS_PER_ADDRESS" default:"0" help:"Most seats that one network address may hold at a time (seats; 0: off)."`
	CommandRate          float64       `name:"command-rate" env:"AISLE_COMMAND_RATE" default:"20" help:"Commands a session may send (per second, sustained; 0: off)."`
	CommandBurst         int           `name:"command-burst" env:"AISLE_COMMAND_BURST" default:"100" help:"Commands a session may send at once (commands)."`
	MaxCommands          int           `name:"max-commands" env:"AISLE_MAX_COMMANDS" default:"256" help:"Commands, of all sessions, worked on at once; four times as many may wait, for a second at most (commands; 0: off)."`
	SessionRate          float64       `name:"session-rate" env:"AISLE_SESSION_RATE" default:"60" help:"Sessions that one network address may start (per minute, sustained; 0: off). Loopback is exempt."`
	SessionBurst         int           `name:"session-burst" env:"AISLE_SESSION_BURST" default:"120" help:"Sessions that one network address may start at once (sessions)."`
	MaxSockets           int           `name:"max-sockets" env:"AISLE_MAX_SOCKETS" default:"20000" help:"Live sockets that this replica takes (sockets)."`
	MaxSocketsPerAddress int           `name:"max-sockets-per-address" env:"AISLE_MAX_SOCKETS_PER_ADDRESS" default:"0" help:"Live sockets that one network address may hold at this replica (sockets; 0: off). Loopback is exempt."`

	PostgresPool int           `name:"postgres-pool" env:"AISLE_POSTGRES_POOL" default:"16" help:"Connections to PostgreSQL (connections)."`
	Lanes        int           `name:"append-lanes" env:"AISLE_APPEND_LANES" default:"1" help:"Appends to the log under way at once (lanes)."`
	LeaderTTL    time.Duration `name:"leader-ttl" env:"AISLE_LEADER_TTL" default:"5s" help:"The leader's lease: how long the others wait for a lost leader (duration)."`
	DrainFor     time.Duration `name:"drain-for" env:"AISLE_DRAIN_FOR" default:"10s" help:"Longest time between SIGTERM and exit (duration, at most 14s)."`

	Namespace string `name:"namespace" env:"AISLE_NAMESPACE" default:"aisle" help:"Stands before every key in Redis and etcd, so that installations can share them."`
	LogLevel  string `name:"log-level" env:"AISLE_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least important kind of log line to write: debug, info, warn or error."`
}

// StartTimeout is how long a start waits for PostgreSQL.
const StartTimeout = 10 * time.Second

// longestDrain leaves a second of the 15 s that SIGTERM is given.
const longestDrain = 14 * time.Second

// Validate says in one line what is wrong with the settings and how to mend it.
func (c *Config) Validate() error {
	if c.PostgresURL == "" {
		return errors.New("--postgres-url is needed: where the log lives")
	}
	for flag, address := range map[string]string{"--listen": c.Listen, "--ops-listen": c.OpsListen} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("%s wants ADDRESS:PORT, not %q", flag, address)
		}
	}
	if err := webURL("--public-url", c.PublicURL); err != nil {
		return err
	}
	for _, origin := range c.AllowedOrigins {
		if err := webURL("--allowed-origins", origin); err != nil {
			return err
		}
	}
	if _, err := c.proxies(); err != nil {
		return err
	}
	if !namespace.MatchString(c.Namespace) {
		return fmt.Errorf("--namespace wants 1–40 letters, digits and dashes, not %q", c.Namespace)
	}
	return c.validateLimits()
}

func (c *Config) validateLimits() error {
	switch {
	case c.HoldFor < 100*time.Millisecond || c.HoldFor > 24*time.Hour:
		return fmt.Errorf("--hold-for must be between 100ms and 24h, not %s", c.HoldFor)
	case c.MaxSeats < 1 || c.MaxSeats > 100:
		return fmt.Errorf("--max-seats must be between 1 and 100, not %d", c.MaxSeats)
	case c.MaxSeatsPerAddress < 0:
		return fmt.Errorf("--max-seats-per-address must be 0 (off) or more, not %d", c.MaxSeatsPerAddress)
	case c.MaxCommands < 0:
		return fmt.Errorf("--max-commands must be 0 (off) or more, not %d", c.MaxCommands)
	case c.CommandRate < 0 || c.SessionRate < 0:
		return errors.New("--command-rate and --session-rate must be 0 (off) or more")
	case c.CommandBurst < 1 || c.SessionBurst < 1:
		return errors.New("--command-burst and --session-burst must be at least 1")
	case c.MaxSocketsPerAddress < 0:
		return fmt.Errorf("--max-sockets-per-address must be 0 (off) or more, not %d", c.MaxSocketsPerAddress)
	case c.MaxSockets < 1:
		return fmt.Errorf("--max-sockets must be at least 1, not %d", c.MaxSockets)
	case c.Lanes < 1 || c.PostgresPool < c.Lanes+2:
		return fmt.Errorf("--postgres-pool must be at least --append-lanes and two more, not %d", c.PostgresPool)
	case c.LeaderTTL < 2*time.Second || c.LeaderTTL > time.Minute:
		return fmt.Errorf("--leader-ttl must be between 2s and 1m, not %s", c.LeaderTTL)
	case c.DrainFor < time.Second || c.DrainFor > longestDrain:
		return fmt.Errorf("--drain-for must be between 1s and %s, not %s", longestDrain, c.DrainFor)
	}
	return nil
}

// namespace has no braces, which would move keys to another slot of a Redis Cluster, and no slash.
var namespace = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

// proxies reads TrustedProxies; a plain address is a network of one.
func (c *Config) proxies() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxies {
		if address, err := netip.ParseAddr(text); err == nil {
			networks = append(networks, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxies wants addresses or networks such as 10.0.0.0/8, not %q", text)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

func webURL(flag, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (u.Path != "" && u.Path != "/") {
		return fmt.Errorf("%s wants a web address without a path, such as https://tickets.example.org, not %q", flag, text)
	}
	return nil
}
