package eventstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// OpenStream makes a stream with its first event; when the stream exists already it changes nothing, so it
// may be repeated. The first event has neither a Prev nor a Deadline.
// Errors: ErrInvalid, ErrUnavailable, ErrOutcomeUnknown.
func (s *Store) OpenStream(ctx context.Context, stream uuid.UUID, first NewEvent) error {
	if first.Prev != 0 || first.Deadline != (Deadline{}) {
		return invalid("a first event with prev or deadline")
	}
	req, err := normalize(Request{Stream: stream, Events: []NewEvent{first}})
	if err != nil {
		return err
	}
	e := req.Events[0]
	if _, err = s.write(ctx, openStreamSQL, stream, e.ID, e.Entity, e.Type, string(e.Data)); err != nil {
		return writeError("open stream", err)
	}
	return nil
}

// CloseStream takes a stream off the list that followers follow. Its events stay, and a later append
// opens it again. Errors: ErrNoStream, ErrUnavailable, ErrOutcomeUnknown.
func (s *Store) CloseStream(ctx context.Context, stream uuid.UUID) error {
	exists, err := s.write(ctx, closeStreamSQL, stream)
	if err != nil {
		return writeError("close stream", err)
	}
	if !exists {
		return fmt.Errorf("%w: %s", ErrNoStream, stream)
	}
	return nil
}

// write calls a function that changes the database and says whether there was something to change.
func (s *Store) write(ctx context.Context, sql string, args ...any) (changed bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, &unsentError{err}
	}
	defer conn.Release()
	err = conn.QueryRow(ctx, sql, args...).Scan(&changed)
	return changed, err
}
