package coord

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Replica is what the registry says of one running server.
type Replica struct {
	ID      string    `json:"id"`
	Address string    `json:"address"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	// Sockets is how many browsers are connected.
	Sockets int `json:"sockets"`
	// Load is between 0 (idle) and 1 (full), the replica's own estimate.
	Load float64 `json:"load"`
}

// Summary is what every replica knows of a showing it does not watch.
type Summary struct {
	// Left is how many seats are available.
	Left int `json:"left"`
	// Seq is the showing's version that Left was counted at.
	Seq int64 `json:"seq"`
	// Epoch is the leader's term that wrote it.
	Epoch int64 `json:"epoch"`
}

// Term is one leader's time in office.
type Term struct {
	// Epoch is the create revision of the election key: each term's is higher than the one before.
	Epoch int64
	// TTL is how long the office outlives a leader that etcd no longer hears of.
	TTL time.Duration
	// Remaining is how much of the term is certain now: it is set back by each confirmed keepalive.
	Remaining func() time.Duration
}

// Config says where etcd is and who this replica is.
type Config struct {
	// Endpoints are etcd's client addresses. Required.
	Endpoints []string
	// ID is this replica's name in the registry and in elections. Required.
	ID string
	// Prefix stands before every key. Default "/aisle".
	Prefix string
	// TTL is how long etcd keeps what belongs to a replica that it no longer hears of, in whole
	// seconds. Default 5 s.
	TTL time.Duration
	// CompactEvery is how much of etcd's history is kept, for an etcd that doesn't compact by itself and is
	// Aisle's alone. Default -1: history isn't touched.
	CompactEvery time.Duration
	// AlarmEvery is how often etcd is asked whether it is out of space. Default 1 min.
	AlarmEvery time.Duration
	// Logger. Default slog.Default().
	Logger *slog.Logger
}

// WithDefaults returns the config with each field that was left out at its default.
func (c Config) WithDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "/aisle"
	}
	if c.TTL == 0 {
		c.TTL = 5 * time.Second
	}
	if c.CompactEvery == 0 {
		c.CompactEvery = -1
	}
	if c.AlarmEvery == 0 {
		c.AlarmEvery = time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says what is wrong with the config, all at once.
func (c Config) Validate() error {
	var errs []error
	if len(c.Endpoints) == 0 {
		errs = append(errs, errors.New("coord: no etcd endpoints"))
	}
	if c.ID == "" || strings.Contains(c.ID, "/") {
		errs = append(errs, fmt.Errorf("coord: %q is no replica's id", c.ID))
	}
	if !strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/") {
		errs = append(errs, fmt.Errorf("coord: the prefix %q doesn't begin with a slash, or ends with one", c.Prefix))
	}
	if c.TTL < time.Second || c.TTL%time.Second != 0 {
		errs = append(errs, fmt.Errorf("coord: a TTL of %v", c.TTL))
	}
	if c.AlarmEvery <= 0 {
		errs = append(errs, fmt.Errorf("coord: a look for alarms every %v", c.AlarmEvery))
	}
	return errors.Join(errs...)
}
