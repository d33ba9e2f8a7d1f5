package seatmap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// errDiverged: the log doesn't have the event that the state stands on.
var errDiverged = errors.New("seatmap: the log was replaced")

// read brings one show up to the log's head; the queue's workers call it.
func (l *Live) read(ctx context.Context, s *show) error {
	if s.needsLoad() {
		return l.load(ctx, s)
	}
	err := l.catchUp(ctx, s)
	if errors.Is(err, errDiverged) {
		// It runs again right after this, and then loads.
		l.rebuild(ctx, s)
	}
	return err
}

// catchUp applies what the log has beyond the show's state.
func (l *Live) catchUp(ctx context.Context, s *show) error {
	for {
		log, at, _ := s.position()
		began := time.Now()
		events, err := l.page(ctx, s.id, at)
		if err != nil {
			return err
		}
		out := l.apply(ctx, s, log, events)
		if out.err != nil {
			return out.err
		}
		if out.diverged {
			return errDiverged
		}
		if len(events) < l.cfg.Page-1 {
			s.verified(began)
			return nil
		}
	}
}

// page is the next events after a position. It reads one event more, that of the position itself, and so
// sees when the log was replaced: errDiverged.
func (l *Live) page(ctx context.Context, showing uuid.UUID, at eventstore.Position) ([]eventstore.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.ReadTimeout)
	defer cancel()
	l.counts.reads.Add(1)
	events, err := l.log.Read(ctx, showing, max(at.Seq-1, 0), l.cfg.Page)
	if errors.Is(err, eventstore.ErrNoStream) {
		// Not on sale yet, or, when it was, the log went back to before that.
		events, err = nil, nil
	}
	l.logOutage.report(ctx, err)
	if err != nil {
		return nil, fmt.Errorf("seatmap: read %s after %d: %w", showing, at.Seq, err)
	}
	if at.Seq == 0 {
		return events, nil
	}
	if len(events) == 0 || events[0].Seq != at.Seq || events[0].ID != at.Event {
		return nil, errDiverged
	}
	return events[1:], nil
}

// load gives a show its first state, or a new one after the log was replaced.
func (l *Live) load(ctx context.Context, s *show) error {
	_, _, again := s.position()
	log, state, fresh, err := l.fetch(ctx, s.id, !again)
	switch {
	case err != nil && again:
		return err
	case err != nil:
		l.mu.Lock()
		l.forget(s)
		l.mu.Unlock()
		s.fail(err)
		return err
	}
	l.counts.loads.Add(1)
	s.replace(log, state, fresh)
	if !again {
		close(s.ready)
	}
	return nil
}

// fetch is a showing's state as of the log's head, from the snapshot when that agrees with the log, else
// from the log alone. fresh is an instant at which that was all there was. While the log can't be
// reached and unverified will do, it is the snapshot as it is, and fresh is zero.
func (l *Live) fetch(
	ctx context.Context, showing uuid.UUID, unverified bool,
) (log string, state *booking.State, fresh time.Time, err error) {
	snapshot := l.readSnapshot(ctx, showing)
	fresh = time.Now()
	heads, err := l.heads(ctx, []uuid.UUID{showing})
	if err != nil {
		if snapshot != nil && unverified {
			return snapshot.log, snapshot.state, time.Time{}, nil
		}
		return "", nil, time.Time{}, err
	}
	if snapshot != nil && snapshot.log == heads.Log {
		state, err = l.fold(ctx, showing, snapshot.state, heads.Positions[showing])
		if !errors.Is(err, errDiverged) {
			return heads.Log, state, fresh, err
		}
	}
	state, err = l.fold(ctx, showing, booking.NewState(), heads.Positions[showing])
	return heads.Log, state, fresh, err
}

// fold takes a state to the head. errDiverged when the head isn't ahead of it on the same log.
func (l *Live) fold(
	ctx context.Context, showing uuid.UUID, state *booking.State, head eventstore.Position,
) (*booking.State, error) {
	for state.Seq < head.Seq {
		events, err := l.page(ctx, showing, state.Position())
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return nil, errDiverged
		}
		for _, e := range events {
			if err := state.Apply(e); err != nil {
				return nil, err
			}
		}
		if state.Seq >= head.Seq {
			// It was read beyond the head that was asked for; that event was not compared.
			return state, nil
		}
	}
	if state.Position() != head {
		return nil, errDiverged
	}
	return state, nil
}

// readSnapshot is the showing's snapshot in Redis, or nil when there is none that can be used.
func (l *Live) readSnapshot(ctx context.Context, showing uuid.UUID) *stored {
	if l.redis == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.RedisTimeout)
	defer cancel()
	key := SnapshotKey(l.cfg.Prefix, showing)
	fields, err := l.redis.HGetAll(ctx, key).Result()
	if wrongType(err) {
		l.badSnapshots.report(ctx, key, err)
		return nil
	}
	l.redisOutage.report(ctx, err)
	if err != nil || len(fields) == 0 {
		return nil
	}
	snapshot, err := decodeStored(fields)
	if err != nil {
		l.badSnapshots.report(ctx, key, err)
		return nil
	}
	return &snapshot
}

// heads asks the log for its heads and sets this replica's idea of the database's clock.
func (l *Live) heads(ctx context.Context, showings []uuid.UUID) (eventstore.Heads, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CheckTimeout)
	defer cancel()
	began := time.Now()
	heads, err := l.log.Heads(ctx, showings)
	l.logOutage.report(ctx, err)
	if err != nil {
		return eventstore.Heads{}, fmt.Errorf("seatmap: heads: %w", err)
	}
	middle := began.Add(time.Since(began) / 2)
	l.ahead.Store(int64(heads.Now.Sub(middle)))
	return heads, nil
}
