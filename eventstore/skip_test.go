package eventstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/eventstore"
)

// lateCommit is what a reader has of two streams after this: append 1 waits with its transaction open while append 2,
// of the other stream, commits, the reader polls, and append 1 commits. Within one stream append 3 can't even get a
// number before append 1 is done.
func lateCommit(t *testing.T, start func(t *testing.T, f fixture, r *reader)) (late, early []int64) {
	t.Helper()
	f := newStore(t, eventstore.Config{})
	slow, quick := f.stream(t), f.stream(t)
	r := newReader()
	start(t, f, r)
	r.waitFor(t, slow, 1)
	r.waitFor(t, quick, 1)

	tx, err := f.connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", slow)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `WITH moved AS (UPDATE streams SET head = 2, event = $2 WHERE id = $1)
		INSERT INTO events (stream, seq, id, entity, prev, type, data, at)
		VALUES ($1, 2, $2, 'seat:A1', 0, 'Changed', '{}', clock_timestamp())`, slow, uuid.New())
	require.NoError(t, err)
	f.add(t, quick, "seat:A1")
	r.waitFor(t, quick, 1, 2)
	third := make(chan eventstore.Result, 1)
	go func() {
		res, err := f.Append(t.Context(), eventstore.Request{Stream: slow, Events: events("seat:A2")})
		assert.NoError(t, err)
		third <- res
	}()
	waitForLock(t, f)
	assert.Equal(t, []int64{1}, r.read(slow))
	require.NoError(t, tx.Commit(t.Context()))

	assert.Equal(t, int64(3), (<-third).Seq)
	require.Eventually(t, func() bool { return slices.Contains(r.read(slow), 3) }, soon, 2*time.Millisecond)
	return r.read(slow), r.read(quick)
}

func TestLateCommitIsNotSkipped(t *testing.T) {
	t.Parallel()
	late, early := lateCommit(t, func(t *testing.T, f fixture, r *reader) {
		t.Helper()
		follow(t, f, eventstore.FollowerConfig{Poll: fastPoll}, &memory{}, r)
	})
	assert.Equal(t, []int64{1, 2, 3}, late)
	assert.Equal(t, []int64{1, 2}, early)
}

// The test above finds a reader that keeps one position over a sequence: it never sees the late event.
func TestTheCheckFindsAReaderThatSkips(t *testing.T) {
	t.Parallel()
	late, early := lateCommit(t, readByPosition)
	assert.Equal(t, []int64{1, 3}, late)
	assert.Equal(t, []int64{1, 2}, early)
}

// readByPosition reads as logs with one numbered table are often read. It numbers the events so by a trigger.
func readByPosition(t *testing.T, f fixture, r *reader) {
	t.Helper()
	conn := f.connect(t)
	_, err := conn.Exec(t.Context(), `
		CREATE TABLE positions (position bigserial PRIMARY KEY, stream uuid, seq bigint);
		INSERT INTO positions (stream, seq) SELECT stream, seq FROM events;
		CREATE FUNCTION number_event() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO positions (stream, seq) VALUES (NEW.stream, NEW.seq); RETURN NULL; END';
		CREATE TRIGGER number_event AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION number_event()`)
	require.NoError(t, err)
	runUntilEnd(t, func(ctx context.Context) error {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for position := int64(0); ; {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			rows, err := conn.Query(context.WithoutCancel(ctx),
				"SELECT position, stream, seq FROM positions WHERE position > $1 ORDER BY position", position)
			if err != nil {
				return err
			}
			var stream uuid.UUID
			var seq int64
			if _, err := pgx.ForEachRow(rows, []any{&position, &stream, &seq}, func() error {
				return r.Handle(context.WithoutCancel(ctx), stream, []eventstore.Event{{Seq: seq}})
			}); err != nil {
				return err
			}
		}
	})
}
