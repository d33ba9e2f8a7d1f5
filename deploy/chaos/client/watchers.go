package client

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"
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
	Resumes    int64 // subscriptions with a since that were answered by a delta
	Behind     int64 // subscriptions answered by a snapshot of the same log older than the watcher's map, from a replica that was behind
}

// counters are what WatchersStats shows.
type counters struct {
	messages, gaps, reconnects, failures, byes, resumes, behind atomic.Int64
}

// Watchers are browsers without a screen, each looking at one showing.
type Watchers struct {
	n        int
	cfg      WatchersConfig
	api      *API
	dialer   websocket.Dialer
	buffers  sync.Pool // of *[]byte: a message is in one while it is decoded
	counters counters
	seen     violations

	mu  sync.Mutex
	all []*watcher // none before the showings are known
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
	tcp := &net.Dialer{Timeout: cfg.Dial}
	return &Watchers{
		n: n, cfg: cfg, api: NewAPI(),
		dialer: websocket.Dialer{
			NetDialContext: tcp.DialContext, HandshakeTimeout: cfg.Dial, Subprotocols: []string{subprotocol},
			ReadBufferSize: 1024, WriteBufferSize: 256, WriteBufferPool: &sync.Pool{},
		},
		buffers: sync.Pool{New: func() any { return new(make([]byte, 0, 1024)) }},
	}, nil
}

// Run watches until ctx ends and every line is closed. It returns an error only if nothing was ever on sale.
func (w *Watchers) Run(ctx context.Context) error {
	houses, err := programme(ctx, w.api, w.cfg.Replicas)
	w.api.Close()
	if err != nil {
		return fmt.Errorf("watchers: %w", err)
	}
	all := make([]*watcher, w.n)
	for i := range all {
		all[i] = newWatcher(w, i, houses[i%len(houses)])
	}
	w.mu.Lock()
	w.all = all
	w.mu.Unlock()
	var running errgroup.Group
	for _, one := range all {
		running.Go(func() error {
			one.run(ctx)
			return nil
		})
	}
	running.Go(func() error {
		w.ping(ctx, all)
		return nil
	})
	return running.Wait()
}

// pingSlots is into how many steps a ping's period is cut: in each of them, its share of the watchers pings.
const pingSlots = 30

// ping speaks for all watchers, which are themselves waiting to read.
func (w *Watchers) ping(ctx context.Context, all []*watcher) {
	ticker := time.NewTicker(max(w.cfg.Ping/pingSlots, time.Millisecond))
	defer ticker.Stop()
	for slot := 0; ; slot = (slot + 1) % pingSlots {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for i := slot; i < len(all); i += pingSlots {
			if l := all[i].line.Load(); l != nil {
				l.write(pingMessage)
			}
		}
	}
}

func (w *Watchers) watchers() []*watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

// Views returns every watcher's map as it is now; the maps are the caller's. It is empty until the showings are known.
func (w *Watchers) Views() []View {
	all := w.watchers()
	views := make([]View, len(all))
	for i, one := range all {
		views[i] = one.view()
	}
	return views
}

// Stats returns the counts so far.
func (w *Watchers) Stats() WatchersStats {
	live := 0
	for _, one := range w.watchers() {
		if one.isLive() {
			live++
		}
	}
	c := &w.counters
	return WatchersStats{
		Live: live, Messages: c.messages.Load(), Gaps: c.gaps.Load(), Reconnects: c.reconnects.Load(), Failures: c.failures.Load(),
		Byes: c.byes.Load(), Resumes: c.resumes.Load(), Behind: c.behind.Load(),
	}
}

// Violations returns what the watchers have seen so far that cannot be right.
func (w *Watchers) Violations() []Violation { return w.seen.all() }
