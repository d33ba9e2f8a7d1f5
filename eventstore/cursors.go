package eventstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Cursors keeps how far a Follower has come, for when it starts again.
type Cursors interface {
	// Load returns the positions in that log of those of the streams that have one. A position of
	// another log is none. An error makes the follower try again.
	Load(ctx context.Context, log string, streams []uuid.UUID) (map[uuid.UUID]Position, error)
	// Save keeps positions. A failure costs repeated events after the next start, no more.
	Save(ctx context.Context, log string, positions map[uuid.UUID]Position) error
}

// PostgresCursors keeps the cursors of one named follower beside the log, for handlers without a
// place of their own.
func (s *Store) PostgresCursors(follower string) Cursors {
	return postgresCursors{store: s, follower: follower}
}

type postgresCursors struct {
	store    *Store
	follower string
}

func (c postgresCursors) Load(
	ctx context.Context, log string, streams []uuid.UUID,
) (map[uuid.UUID]Position, error) {
	found, err := collect(ctx, c.store, "load cursors", scanCursor, loadCursorsSQL, c.follower, log, streams)
	if err != nil {
		return nil, err
	}
	positions := make(map[uuid.UUID]Position, len(found))
	for _, f := range found {
		positions[f.stream] = f.position
	}
	return positions, nil
}

func (c postgresCursors) Save(ctx context.Context, log string, positions map[uuid.UUID]Position) error {
	var streams, events [][16]byte
	var seqs []int64
	for stream, p := range positions {
		streams, seqs, events = append(streams, stream), append(seqs, p.Seq), append(events, p.Event)
	}
	if _, err := c.store.pool.Exec(ctx, saveCursorsSQL, c.follower, log, streams, seqs, events); err != nil {
		return fmt.Errorf("eventstore: save cursors: %w", err)
	}
	return nil
}

type cursorRow struct {
	stream   uuid.UUID
	position Position
}

func scanCursor(row pgx.CollectableRow) (cursorRow, error) {
	var r cursorRow
	err := row.Scan(&r.stream, &r.position.Seq, &r.position.Event)
	return r, err
}
