package seatmap

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// Delta is what changed between two seqs: laid over the map at Prev, Seats make the map at Seq.
type Delta struct {
	Prev, Seq int64
	// Stale is as of now; it is no part of what changed.
	Stale bool
	Seats map[booking.Seat]booking.Status
}

// show is one showing that is followed: its state, and who looks at it.
type show struct {
	id     uuid.UUID
	zipper *zipper
	// ready is closed when the first load has ended, well or badly.
	ready chan struct{}

	mu sync.Mutex
	// err is why the first load failed; read it after ready.
	err   error
	log   string
	state *booking.State
	seats *seats
	// floor is the seq from which on Since is right: a log that was rewritten under the same id makes
	// what was told before worthless.
	floor int64
	// fresh is an instant at which the state reflected the whole log; zero when it never was compared.
	fresh time.Time
	stale bool
	// broken says that the next event can't be read: the map can't go on.
	broken bool
	// rebuild says that the state is of another log.
	rebuild bool
	// hinted is the highest seq that a hint has told of; waiting says that its grace is running.
	hinted  int64
	waiting bool

	openers   map[*Map]struct{}
	idleSince time.Time
	// turn is closed at the next change, for those who wait for a seq; nil when nobody does.
	turn chan struct{}
	// encoded is the seats' JSON and snapshot what was last made of it; both nil when out of date.
	encoded  json.RawMessage
	snapshot *Snapshot
}

func newShow(id uuid.UUID, codes []booking.Seat, z *zipper, now time.Time) *show {
	return &show{
		id: id, zipper: z, ready: make(chan struct{}), seats: newSeats(codes),
		openers: map[*Map]struct{}{}, idleSince: now,
	}
}

// loaded says that the show has a state, and where it stands.
func (s *show) position() (log string, at eventstore.Position, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return "", eventstore.Position{}, false
	}
	return s.log, s.state.Position(), true
}

// replace starts from another state, read at the instant fresh (zero when it is not known to be the
// log's head).
func (s *show) replace(log string, state *booking.State, fresh time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state == nil || s.log != log:
		s.floor = 0
	case s.state.Position() != state.Position():
		s.floor = max(s.floor, s.state.Seq+1, state.Seq+1)
	}
	s.log, s.state, s.fresh = log, state, fresh
	s.stale = fresh.IsZero()
	s.broken, s.rebuild = false, false
	s.seats.reset(state)
	s.changed()
}

// outcome is what apply found.
type outcome struct {
	// log is the state's.
	log string
	// applied are the events that were new.
	applied []eventstore.Event
	// behind says that events in between are missing or that there is no state yet.
	behind bool
	// diverged says that the events are of another log than the state.
	diverged bool
	// err is why an event can't be read; only the first time.
	err error
}

// apply takes the state further by events in order. Those it already reflects change nothing. An empty
// log means that of the state.
func (s *show) apply(log string, events []eventstore.Event) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return outcome{behind: true}
	}
	if log != "" && log != s.log {
		return outcome{diverged: true}
	}
	out := outcome{log: s.log}
	for _, e := range events {
		if e.Seq == s.state.Seq && e.ID != s.state.Event {
			out.diverged = true
			break
		}
		if e.Seq <= s.state.Seq {
			continue
		}
		if e.Seq > s.state.Seq+1 {
			out.behind = true
			break
		}
		if err := s.state.Apply(e); err != nil {
			if !s.broken {
				out.err = err
			}
			s.broken, s.stale = true, true
			break
		}
		s.broken = false
		s.seats.follow(e.Entity, s.state)
		out.applied = append(out.applied, e)
	}
	if len(out.applied) > 0 || out.err != nil {
		s.changed()
	}
	return out
}

// verified says that at that instant the state reflected the whole log.
func (s *show) verified(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.fresh) {
		s.fresh = at
	}
}

// age sets stale by how long ago the state was known to reflect the whole log.
func (s *show) age(now time.Time, staleAfter time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return
	}
	stale := s.broken || now.Sub(s.fresh) > staleAfter
	if stale != s.stale {
		s.stale = stale
		s.signal()
	}
}

// changed forgets what was encoded and tells everyone. The caller holds mu.
func (s *show) changed() {
	s.encoded = nil
	s.signal()
}

// signal tells everyone that there is something new. The caller holds mu.
func (s *show) signal() {
	s.snapshot = nil
	for m := range s.openers {
		select {
		case m.changes <- struct{}{}:
		default:
		}
	}
	if s.turn != nil {
		close(s.turn)
		s.turn = nil
	}
}

// reached says whether the state has come to seq; otherwise the channel is closed at the next change.
func (s *show) reached(seq int64) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil && s.state.Seq >= seq {
		return true, nil
	}
	if s.turn == nil {
		s.turn = make(chan struct{})
	}
	return false, s.turn
}

func (s *show) current() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot != nil {
		return *s.snapshot
	}
	if s.encoded == nil {
		s.encoded = encodeSeats(s.seats.codes, s.seats.status)
	}
	s.snapshot = encoded(Snapshot{Showing: s.id, Log: s.log, Seq: s.state.Seq, Stale: s.stale, Seats: s.encoded}, s.zipper)
	return *s.snapshot
}

func (s *show) since(log string, seq int64) (Delta, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if log != s.log || seq < s.floor || seq > s.state.Seq {
		return Delta{}, false
	}
	return Delta{Prev: seq, Seq: s.state.Seq, Stale: s.stale, Seats: s.seats.since(seq)}, true
}

// look also says whether the state was not known to be the log's head at any time since an instant.
func (s *show) look(seats []booking.Seat, id uuid.UUID, since time.Time) booking.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := s.state.View(seats, id)
	view.Old = s.fresh.Before(since)
	return view
}

func (s *show) counts() (available int, seq int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return 0, 0, false
	}
	return s.seats.available, s.state.Seq, true
}

// demandRebuild marks the state as one of another log; true when it wasn't marked yet.
func (s *show) demandRebuild() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.rebuild
	s.rebuild = true
	return first
}

// needsLoad says that catching up is no use: there is no state yet, or one of another log.
func (s *show) needsLoad() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == nil || s.rebuild
}

// failure is why the first load failed; nil when it didn't.
func (s *show) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail ends the first load without a state.
func (s *show) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.ready)
}

// join and leave keep the openers.
func (s *show) join(m *Map) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openers[m] = struct{}{}
}

func (s *show) leave(m *Map, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.openers, m)
	s.idleSince = now
}

// touch keeps a show that nobody has open from being dropped for another while.
func (s *show) touch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idleSince = now
}

// idle says that nobody has the show open, and since when.
func (s *show) idle() (since time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idleSince, len(s.openers) == 0
}

// hint notes that the log has events up to seq. True when the caller is to look again after the grace.
func (s *show) hint(seq int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || seq <= s.state.Seq {
		return false
	}
	s.hinted = max(s.hinted, seq)
	if s.waiting {
		return false
	}
	s.waiting = true
	return true
}

// graceOver says whether what was hinted at is still missing.
func (s *show) graceOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
	missing := s.state != nil && s.state.Seq < s.hinted
	s.hinted = 0
	return missing
}
