package seatmap

import (
	"context"
	"sync"
	"time"
)

// catchUpPause is how long CatchUp waits before it asks a log again that could not be reached.
const catchUpPause = 100 * time.Millisecond

// Map is one opener's hold on a showing's live map. After Close it shows what was last known.
type Map struct {
	live    *Live
	show    *show
	changes chan struct{}
	closing sync.Once
}

// Changes gets a value after the map or its staleness changed. It has room for one, so several changes
// may be one value; it is this opener's own, and never closed.
func (m *Map) Changes() <-chan struct{} { return m.changes }

// Snapshot is the whole map as of now.
func (m *Map) Snapshot() Snapshot { return m.show.current() }

// Since is what changed between seq and now, merged. False when the log is another one, or hasn't come
// to seq, or was rewritten since: then take a Snapshot.
func (m *Map) Since(log string, seq int64) (Delta, bool) { return m.show.since(log, seq) }

// CatchUp returns when the map has come to seq, for which it asks the log at once. ErrAhead when the log
// itself has not come that far, ErrClosed when Live's Run has ended; else ctx's error.
func (m *Map) CatchUp(ctx context.Context, seq int64) error {
	for {
		reached, turn := m.show.reached(seq)
		if reached {
			return nil
		}
		run := m.live.queue.add(m.show)
		select {
		case <-turn:
			continue
		case <-run.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-m.live.done:
			return ErrClosed
		}
		if reached, _ := m.show.reached(seq); reached {
			return nil
		}
		if run.err == nil {
			return ErrAhead
		}
		if !pause(ctx, catchUpPause) {
			return ctx.Err()
		}
	}
}

// Close ends the hold. More than once is fine.
func (m *Map) Close() {
	m.closing.Do(func() { m.show.leave(m, time.Now()) })
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
