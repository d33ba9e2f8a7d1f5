package eventstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// mostRead bounds one Read, and the look-ups that take a limit.
const mostRead = 10_000

// Read returns the stream's events with a Seq above after, in order, at most limit of them (1–10000).
// None means that after is the head or past it.
// Errors: ErrNoStream, when after is 0 and there is no event 1; ErrInvalid for the limit; ErrUnavailable.
func (s *Store) Read(ctx context.Context, stream uuid.UUID, after int64, limit int) ([]Event, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	events, err := collect(ctx, s, "read", scanEvent, readSQL, stream, after, limit)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 && after <= 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoStream, stream)
	}
	return events, nil
}

// Heads tells where the streams end, and which log this is; nil means all open streams. Streams that
// don't exist are left out. Error: ErrUnavailable.
func (s *Store) Heads(ctx context.Context, streams []uuid.UUID) (Heads, error) {
	sql, args := headsSQL, []any{streams}
	if streams == nil {
		sql, args = headsOpenSQL, nil
	}
	rows, err := collect(ctx, s, "heads", scanHead, sql, args...)
	if err != nil {
		return Heads{}, err
	}
	heads := Heads{Log: rows[0].log, Now: rows[0].now.UTC(), Positions: make(map[uuid.UUID]Position, len(rows))}
	for _, r := range rows {
		if r.seq != nil {
			heads.Positions[*r.stream] = Position{Seq: *r.seq, Event: *r.event}
		}
	}
	s.log.Store(&heads.Log)
	return heads, nil
}

// Latest returns the latest event of each of the entities that has one, in the order of their Seq.
// Error: ErrUnavailable.
func (s *Store) Latest(ctx context.Context, stream uuid.UUID, entities []string) ([]Event, error) {
	return collect(ctx, s, "latest", scanEvent, latestSQL, stream, entities)
}

// LatestAt returns the entity's latest event with a Seq of at most upTo: what it was as of then.
// Errors: ErrNotFound, ErrUnavailable.
func (s *Store) LatestAt(ctx context.Context, stream uuid.UUID, entity string, upTo int64) (Event, error) {
	return one(collect(ctx, s, "latest at", scanEvent, latestAtSQL, stream, entity, upTo))
}

// Recorded returns what the log has of a command. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Recorded(ctx context.Context, session uuid.UUID, key string) (Recorded, error) {
	row, err := one(collect(ctx, s, "recorded", scanRecorded, recordedSQL, session, key))
	if err != nil {
		return Recorded{}, err
	}
	return row.recorded(), nil
}

// collect runs a query on a connection of its own and reads all of its rows.
func collect[T any](
	ctx context.Context, s *Store, what string, scan pgx.RowToFunc[T], sql string, args ...any,
) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, readError(ctx, what, err)
	}
	found, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, readError(ctx, what, err)
	}
	return found, nil
}

// one is the first of what was found, or ErrNotFound.
func one[T any](found []T, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, ErrNotFound
	}
	return found[0], nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > mostRead {
		return invalid("limit %d is not 1–%d", limit, mostRead)
	}
	return nil
}

type headRow struct {
	log    string
	now    time.Time
	stream *uuid.UUID
	seq    *int64
	event  *uuid.UUID
}

func scanHead(row pgx.CollectableRow) (headRow, error) {
	var r headRow
	err := row.Scan(&r.log, &r.now, &r.stream, &r.seq, &r.event)
	return r, err
}

func scanEvent(row pgx.CollectableRow) (Event, error) {
	var e eventRow
	err := row.Scan(e.targets()...)
	return e.event(), err
}

// eventRow is an event on its way out of the database, whose deadline may be null.
type eventRow struct {
	Event
	deadline *time.Time
}

func (r *eventRow) targets() []any {
	e := &r.Event
	return []any{&e.Stream, &e.Seq, &e.ID, &e.Entity, &e.Prev, &e.Type, &e.Data, &r.deadline, &e.At}
}

func (r *eventRow) event() Event {
	r.Deadline = utc(r.deadline)
	r.At = r.At.UTC()
	return r.Event
}

func scanRecorded(row pgx.CollectableRow) (recordedRow, error) {
	var r recordedRow
	var body []byte
	err := row.Scan(&r.Session, &r.Key, &r.Route, &body, &r.Booking, &r.Status, &r.Stream, &r.Seq, &r.At)
	copy(r.Body[:], body)
	return r, err
}
