package client

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// View is a showing's map as one watcher has it.
type View struct {
	Watcher int // its number, from 0
	Showing uuid.UUID
	Log     string // "" and Seq 0: nothing was ever received
	Seq     int64
	Stale   bool              // as last told
	Live    bool              // the line is open and its subscription was answered
	Seats   map[string]string // every seat's status; nil if nothing was ever received
	Since   time.Time         // when the map last changed
}

// WatchersStats counts what has happened to all watchers so far.
type WatchersStats struct {
	Live       int   // watchers whose line is open and whose subscription was answered
	Messages   int64 // received
	Gaps       int64 // deltas whose prev was not the seq before; each led to a new subscription
	Reconnects int64 // connections after a watcher's first
	Failures   int64 // connections that could not be had
	Byes       int64 // lines that the server ended with a bye
}

// Watchers are browsers without a screen, each looking at one showing.
type Watchers struct {
	cfg  WatchersConfig
	api  *API
	seen violations
}

// NewWatchers returns n watchers, spread evenly over the showings that are on sale once they Run.
func NewWatchers(n int, cfg WatchersConfig) (*Watchers, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("watchers: %d of them", n)
	}
	return &Watchers{cfg: cfg, api: NewAPI()}, nil
}

// Run watches until ctx ends and every line is closed. It returns an error only if nothing was ever on sale.
func (w *Watchers) Run(ctx context.Context) error {
	defer w.api.Close()
	_, err := programme(ctx, w.api, w.cfg.Replicas)
	return err
}

// Views returns every watcher's map as it is now; the maps are the caller's.
func (w *Watchers) Views() []View { return nil }

// Stats returns the counts so far.
func (w *Watchers) Stats() WatchersStats { return WatchersStats{} }

// Violations returns what the watchers have seen so far that cannot be right.
func (w *Watchers) Violations() []Violation { return w.seen.all() }
