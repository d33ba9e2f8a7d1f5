package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/web/api"
)

// keyUsed says whether a session has used a key for a command on bookings.
func keyUsed(log *eventstore.Store) func(context.Context, uuid.UUID, string) (bool, error) {
	return func(ctx context.Context, session uuid.UUID, key string) (bool, error) {
		_, err := log.Recorded(ctx, session, key)
		if errors.Is(err, eventstore.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
		}
		return true, nil
	}
}

// noLocks is a replica without Redis: the log alone guards.
type noLocks struct{}

func (noLocks) Acquire(context.Context, lock.Request) (lock.Held, error) {
	return lock.Held{}, lock.ErrUnavailable
}

func (noLocks) Renew(context.Context, lock.Request) (lock.Held, error) {
	return lock.Held{}, lock.ErrUnavailable
}

func (noLocks) Replace(context.Context, lock.Request, map[string]uuid.UUID) (lock.Held, error) {
	return lock.Held{}, lock.ErrUnavailable
}

func (noLocks) Release(context.Context, uuid.UUID, uuid.UUID, string, []string) error {
	return lock.ErrUnavailable
}

// pages serves the live maps to web/api.
type pages struct{ live *seatmap.Live }

func (p pages) Seats(ctx context.Context, showing uuid.UUID) (api.Seats, error) {
	m, err := p.live.Open(ctx, showing)
	switch {
	case errors.Is(err, seatmap.ErrUnknownShowing):
		return api.Seats{}, booking.ErrNotFound
	case err != nil:
		return api.Seats{}, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
	}
	defer m.Close()
	snapshot := m.Snapshot()
	return api.Seats{ETag: snapshot.ETag, JSON: snapshot.JSON, Gzip: snapshot.Gzip}, nil
}

// rooms serves the live maps to the hub.
type rooms struct{ live *seatmap.Live }

func (r rooms) Open(ctx context.Context, showing uuid.UUID) (realtime.Map, error) {
	m, err := r.live.Open(ctx, showing)
	if errors.Is(err, seatmap.ErrUnknownShowing) {
		return nil, realtime.ErrUnknownShowing
	}
	if err != nil {
		return nil, err
	}
	return roomMap{m}, nil
}

// roomMap says a seatmap.Map in the hub's words.
type roomMap struct{ *seatmap.Map }

func (m roomMap) Snapshot() realtime.Snapshot {
	s := m.Map.Snapshot()
	return realtime.Snapshot{Log: s.Log, Seq: s.Seq, Stale: s.Stale, Seats: s.Seats}
}

func (m roomMap) Since(log string, seq int64) (realtime.Delta, bool) {
	d, ok := m.Map.Since(log, seq)
	if !ok {
		return realtime.Delta{}, false
	}
	seats := make(map[string]string, len(d.Seats))
	for seat, status := range d.Seats {
		seats[string(seat)] = string(status)
	}
	return realtime.Delta{Prev: d.Prev, Seq: d.Seq, Stale: d.Stale, Seats: seats}, true
}
