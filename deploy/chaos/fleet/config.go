package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"
)

// Store is one of the three that replicas depend on.
type Store string

// The stores.
const (
	Postgres Store = "postgres"
	Redis    Store = "redis"
	Etcd     Store = "etcd"
)

// RedisKind is how Redis is run.
type RedisKind int

// The kinds of Redis.
const (
	// Single is one redis-server, behind a Link for each replica.
	Single RedisKind = iota
	// SentinelRedis is a master and a replica under three sentinels, without links.
	SentinelRedis
	// ClusterRedis is three primaries with a replica each, without links.
	ClusterRedis
	// NoRedis: the replicas run without.
	NoRedis
)

func (k RedisKind) String() string {
	names := []string{"single", "sentinel", "cluster", "none"}
	if k < Single || k > NoRedis {
		return fmt.Sprintf("RedisKind(%d)", int(k))
	}
	return names[k]
}

const (
	// minPostgresDisk holds a fresh PostgreSQL, its log of writes, and some sales.
	minPostgresDisk = 128 << 20
	minRedisDisk    = 4 << 20
	// maxReplicas is bounded by the addresses of one driver's namespaces.
	maxReplicas = 16
)

// Config of a Fleet.
type Config struct {
	// Dir holds data, logs (in Dir/logs) and what is built on the way; it is made when missing, and it must be one
	// that the user postgres can reach when we are root. No default.
	Dir string
	// Binary is the program aisle. No default.
	Binary string
	// Replicas to run, 1 to 16. Default: 3.
	Replicas int
	// HoldFor is how long a hold lasts. Default: 10 m, the product's.
	HoldFor time.Duration
	// LeaderTTL is the leader's lease. Default: 5 s, the product's.
	LeaderTTL time.Duration
	// Flags follow our own on the replicas' command line, and win over them. Default: none.
	Flags []string
	// Env are further variables for the replicas, NAME=value each. Default: none.
	Env []string
	// Redis is its kind. Default: Single.
	Redis RedisKind
	// Showings, Rows and SeatsPerRow are the size of the cinema that is made at the start: so many showings of so
	// many seats each. Default: no showings, and 8 rows of 10 seats where there are showings.
	Showings, Rows, SeatsPerRow int
	// Namespaces gives each replica a network namespace of its own, for Partition. It needs root, iproute2, and a
	// Redis that is Single or none. Default: false.
	Namespaces bool
	// PostgresDisk and RedisDisk are the sizes in bytes of small disks of their own for the data, for FillDisk. They
	// need root. A Redis with a disk keeps an append-only file on it, and refuses writes when it can't. PostgresDisk
	// is at least 128 MiB, RedisDisk 4 MiB. Default: 0, none.
	PostgresDisk, RedisDisk int64
	// RedisClock runs Redis under a clock that MoveRedisClock moves. It needs gcc and a Single Redis. Default: false.
	RedisClock bool
	// ReplicaClock is how far the clocks of some replicas, by number, are ahead (or behind, if negative), in whole
	// seconds. Those replicas run ShiftedBinary. Default: none.
	ReplicaClock map[int]time.Duration
	// ShiftedBinary is what Shifted has built. No default; only ReplicaClock needs it.
	ShiftedBinary string
	// Logger hears what is started, and broken. Default: none.
	Logger *slog.Logger
}

// WithDefaults returns the Config with what was left open filled in.
func (c Config) WithDefaults() Config {
	if c.Replicas == 0 {
		c.Replicas = 3
	}
	if c.HoldFor == 0 {
		c.HoldFor = 10 * time.Minute
	}
	if c.LeaderTTL == 0 {
		c.LeaderTTL = 5 * time.Second
	}
	if c.Rows == 0 {
		c.Rows = 8
	}
	if c.SeatsPerRow == 0 {
		c.SeatsPerRow = 10
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate says what is wrong with the Config.
func (c Config) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("fleet: Dir is empty")
	case c.Binary == "":
		return errors.New("fleet: Binary is empty")
	case c.Replicas < 1 || c.Replicas > maxReplicas:
		return fmt.Errorf("fleet: Replicas must be between 1 and %d, not %d", maxReplicas, c.Replicas)
	case c.HoldFor < 0 || c.LeaderTTL < 0:
		return errors.New("fleet: HoldFor and LeaderTTL must not be negative")
	case c.Redis < Single || c.Redis > NoRedis:
		return fmt.Errorf("fleet: unknown kind of Redis %d", c.Redis)
	case c.Showings < 0 || c.Rows < 1 || c.SeatsPerRow < 1:
		return errors.New("fleet: Showings, Rows and SeatsPerRow must not be negative")
	case c.Namespaces && (c.Redis == SentinelRedis || c.Redis == ClusterRedis):
		return fmt.Errorf("fleet: Namespaces don't go with a Redis that is %s: its nodes listen on loopback only", c.Redis)
	case c.PostgresDisk != 0 && c.PostgresDisk < minPostgresDisk:
		return fmt.Errorf("fleet: PostgresDisk must be at least %d bytes", minPostgresDisk)
	case c.RedisDisk != 0 && c.RedisDisk < minRedisDisk:
		return fmt.Errorf("fleet: RedisDisk must be at least %d bytes", minRedisDisk)
	case c.Redis != Single && (c.RedisDisk != 0 || c.RedisClock):
		return errors.New("fleet: RedisDisk and RedisClock need a Single Redis")
	}
	return c.validateClocks()
}

func (c Config) validateClocks() error {
	for number, shift := range c.ReplicaClock {
		switch {
		case number < 0 || number >= c.Replicas:
			return fmt.Errorf("fleet: ReplicaClock: there is no replica %d", number)
		case shift%time.Second != 0:
			return fmt.Errorf("fleet: ReplicaClock must be whole seconds, not %s", shift)
		case c.ShiftedBinary == "":
			return errors.New("fleet: ReplicaClock needs a ShiftedBinary")
		}
	}
	return nil
}

// absolute returns the Config with paths that stay true in the directories where programs are run.
func (c Config) absolute() (Config, error) {
	var errs []error
	for _, path := range []*string{&c.Dir, &c.Binary, &c.ShiftedBinary} {
		if *path == "" {
			continue
		}
		full, err := filepath.Abs(*path)
		errs = append(errs, err)
		*path = full
	}
	c.Flags, c.Env = slices.Clone(c.Flags), slices.Clone(c.Env)
	return c, errors.Join(errs...)
}
