package booking_test

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// foldedMap is a live map that reads what is new in the log when it was told of it, unless it is frozen.
type foldedMap struct {
	mu     sync.Mutex
	h      *house
	states map[uuid.UUID]*booking.State
	frozen bool
	gone   bool
	// old is what a process knows of its map that stood still for a while.
	old bool
}

func (m *foldedMap) Look(ctx context.Context, showing uuid.UUID, seats []booking.Seat, id uuid.UUID) (booking.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return booking.View{}, booking.ErrNotFound
	}
	if m.states[showing] == nil {
		m.states[showing] = booking.NewState()
	}
	state := m.states[showing]
	head, _ := m.h.heads.Load(showing)
	if seq, _ := head.(int64); !m.frozen && state.Seq < max(seq, 1) {
		if err := catchUp(ctx, m.h.store, showing, state); err != nil {
			return booking.View{}, err
		}
	}
	view := state.View(seats, id)
	view.Old = m.old
	return view, nil
}

// freeze makes the map lag from now on; it first sees what has happened so far.
func (r *replica) freeze() {
	r.h.t.Helper()
	_, err := r.m.Look(r.h.t.Context(), r.h.hall.show.ID, nil, uuid.Nil)
	require.NoError(r.h.t, err)
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.frozen = true
}

func catchUp(ctx context.Context, log *eventstore.Store, showing uuid.UUID, state *booking.State) error {
	for {
		events, err := log.Read(ctx, showing, state.Seq, 1000)
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if err := state.Apply(e); err != nil {
				return err
			}
		}
	}
}

// spyLog is the real log, seen by the test: it counts calls, and may lose an answer or keep one waiting.
type spyLog struct {
	*eventstore.Store
	mu sync.Mutex
	// calls are the names of the methods called.
	calls []string
	// lose makes the next append's answer get lost, after it was carried out.
	lose bool
	// gate, when set, keeps appends waiting until it is closed; entered hears of each.
	gate, entered chan struct{}
}

func (l *spyLog) note(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
}

// take returns the calls since the last take.
func (l *spyLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

func (l *spyLog) Append(ctx context.Context, r eventstore.Request) (eventstore.Result, error) {
	l.mu.Lock()
	gate, entered, lose := l.gate, l.entered, l.lose
	l.lose = false
	l.mu.Unlock()
	l.note("append")
	if gate != nil {
		entered <- struct{}{}
		<-gate
	}
	res, err := l.Store.Append(ctx, r)
	if lose {
		return eventstore.Result{}, eventstore.ErrOutcomeUnknown
	}
	return res, err
}

func (l *spyLog) Latest(ctx context.Context, stream uuid.UUID, entities []string) ([]eventstore.Event, error) {
	l.note("latest")
	return l.Store.Latest(ctx, stream, entities)
}

func (l *spyLog) LatestAt(ctx context.Context, stream uuid.UUID, entity string, upTo int64) (eventstore.Event, error) {
	l.note("latest-at")
	return l.Store.LatestAt(ctx, stream, entity, upTo)
}

func (l *spyLog) Booking(ctx context.Context, id uuid.UUID) (eventstore.Booking, eventstore.Event, error) {
	l.note("booking")
	return l.Store.Booking(ctx, id)
}

func (l *spyLog) Recorded(ctx context.Context, session uuid.UUID, key string) (eventstore.Recorded, error) {
	l.note("recorded")
	return l.Store.Recorded(ctx, session, key)
}

func (l *spyLog) Heads(ctx context.Context, streams []uuid.UUID) (eventstore.Heads, error) {
	l.note("heads")
	return l.Store.Heads(ctx, streams)
}
