package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/realtime"
)

// cinema is the maps that a hub shows in a test. It counts what is open.
type cinema struct {
	mu       sync.Mutex
	showings map[uuid.UUID]*source
	failing  error
	open     int
}

func newCinema() *cinema { return &cinema{showings: make(map[uuid.UUID]*source)} }

// add makes a showing with seats S0, S1, …, all available, at seq 1.
func (c *cinema) add(seats int) *source {
	s := &source{
		showing: uuid.New(), log: "k3f9", seq: 1, head: 1, first: 1,
		seats: make(map[string]string, seats), past: make(map[int64]map[string]string),
		touched: make(map[string]int64), readers: make(map[*reader]struct{}),
	}
	for i := range seats {
		s.seats[fmt.Sprintf("S%d", i)] = "available"
	}
	s.past[1] = maps.Clone(s.seats)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.showings[s.showing] = s
	return s
}

func (c *cinema) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = err
}

// opened is how many maps are open.
func (c *cinema) opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

func (c *cinema) Open(_ context.Context, showing uuid.UUID) (realtime.Map, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing != nil {
		return nil, c.failing
	}
	s := c.showings[showing]
	if s == nil {
		return nil, realtime.ErrUnknownShowing
	}
	c.open++
	return s.reader(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
	}), nil
}

// source is the seats of one showing, kept with all that they ever were.
type source struct {
	showing uuid.UUID

	mu    sync.Mutex
	log   string
	seq   int64
	stale bool
	seats map[string]string
	// past is the seats at each seq of this log, touched the seq of each seat's last change.
	past    map[int64]map[string]string
	touched map[string]int64
	// first is the oldest seq that a delta can start from; head is how far the log reaches, where
	// the map may be behind it, and missing what the map has not taken in of it.
	first, head int64
	missing     []map[string]string
	catchUpErr  error
	// catching, where set, is told of every call to catch up.
	catching chan int64
	readers  map[*reader]struct{}
	sinces   int
	// after, where set, is called after each read of the map: wholeMap for a snapshot, else the seq that a
	// delta starts from.
	after func(from int64)
}

// change gives seats a status, and returns the seq of that.
func (s *source) change(status string, seats ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head++
	change := make(map[string]string, len(seats))
	for _, seat := range seats {
		change[seat] = status
	}
	s.applyLocked(change)
	return s.seq
}

func (s *source) applyLocked(change map[string]string) {
	s.seq++
	for seat, status := range change {
		s.seats[seat] = status
		s.touched[seat] = s.seq
	}
	s.past[s.seq] = maps.Clone(s.seats)
	s.signalLocked()
}

// append puts a change into the log that the map does not know of yet, and returns its seq.
func (s *source) append(status string, seats ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	change := make(map[string]string, len(seats))
	for _, seat := range seats {
		change[seat] = status
	}
	s.head++
	s.missing = append(s.missing, change)
	return s.head
}

func (s *source) setStale(stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = stale
	s.signalLocked()
}

// renew is a restore of the log from a backup: another id, fewer events.
func (s *source) renew(log string, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.seq, s.head, s.first = log, seq, seq, seq
	s.past = map[int64]map[string]string{seq: maps.Clone(s.seats)}
	clear(s.touched)
	s.signalLocked()
}

// forget makes seqs before first too old for a delta.
func (s *source) forget(first int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

func (s *source) signalLocked() {
	for r := range s.readers {
		select {
		case r.changes <- struct{}{}:
		default:
		}
	}
}

// asksFor waits for the next call to catch up, and wants it to be for this seq.
func (s *source) asksFor(t *testing.T, seq int64) {
	t.Helper()
	select {
	case asked := <-s.catching:
		require.Equal(t, seq, asked)
	case <-time.After(time.Minute):
		require.Fail(t, "nobody asks the log", "want a call for seq %d", seq)
	}
}

// heard says whether every reader has taken the last signal.
func (s *source) heard() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		if len(r.changes) > 0 {
			return false
		}
	}
	return true
}

// end is the end of all open maps: their readers have to open them again.
func (s *source) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		close(r.changes)
	}
	clear(s.readers)
}

// at is the seats as they were at a seq.
func (s *source) at(seq int64) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.past[seq]
}

// now is the map as a client should have it.
func (s *source) now() realtimetestMap {
	s.mu.Lock()
	defer s.mu.Unlock()
	return realtimetestMap{Log: s.log, Seq: s.seq, Stale: s.stale, Seats: maps.Clone(s.seats)}
}

// asked is how often a delta was asked for.
func (s *source) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinces
}

func (s *source) reader(closed func()) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &reader{source: s, changes: make(chan struct{}, 1), closed: closed}
	s.readers[r] = struct{}{}
	return r
}

// reader is a source, opened.
type reader struct {
	*source
	changes chan struct{}
	closed  func()
}

func (r *reader) Changes() <-chan struct{} { return r.changes }

// read tells that a read is over.
func (s *source) read(from int64) {
	s.mu.Lock()
	after := s.after
	s.mu.Unlock()
	if after != nil {
		after(from)
	}
}

// afterRead makes a move right behind the reader's back, after the first read from this seq.
func (s *source) afterRead(from int64, move func()) {
	var once sync.Once
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = func(at int64) {
		if at == from {
			once.Do(move)
		}
	}
}

// wholeMap is where a snapshot starts from.
const wholeMap = -1

func (r *reader) Snapshot() realtime.Snapshot {
	defer r.read(wholeMap)
	r.mu.Lock()
	defer r.mu.Unlock()
	seats, err := json.Marshal(r.seats)
	if err != nil {
		panic(err)
	}
	return realtime.Snapshot{Log: r.log, Seq: r.seq, Stale: r.stale, Seats: seats}
}

func (r *reader) Since(log string, seq int64) (realtime.Delta, bool) {
	defer r.read(seq)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sinces++
	if log != r.log || seq < r.first || seq > r.seq {
		return realtime.Delta{}, false
	}
	d := realtime.Delta{Prev: seq, Seq: r.seq, Stale: r.stale, Seats: make(map[string]string)}
	for seat, at := range r.touched {
		if at > seq {
			d.Seats[seat] = r.seats[seat]
		}
	}
	return d, true
}

func (r *reader) CatchUp(ctx context.Context, seq int64) error {
	r.mu.Lock()
	catching, asked := r.catching, len(r.missing) // What the log has as it is asked.
	r.mu.Unlock()
	if catching != nil {
		select {
		case catching <- seq:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	if r.catchUpErr != nil {
		defer r.mu.Unlock()
		return r.catchUpErr
	}
	asked = min(asked, len(r.missing))
	for _, change := range r.missing[:asked] {
		r.applyLocked(change)
	}
	r.missing = r.missing[asked:]
	reached := r.seq >= seq
	r.mu.Unlock()
	if reached {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (r *reader) Close() {
	r.mu.Lock()
	delete(r.readers, r)
	r.mu.Unlock()
	r.closed()
}

// requireSame waits until a client has exactly the source's map.
func requireSame(t *testing.T, s *source, c *client) {
	t.Helper()
	want := s.now()
	got, err := c.WaitMap(t.Context(), s.showing, func(m realtimetestMap) bool {
		return m.Log == want.Log && m.Seq >= want.Seq && m.Stale == want.Stale
	})
	require.NoError(t, err)
	require.Equal(t, want, got)
}
