package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// LockShowing locks a whole showing for one owner. While it is locked, others' Acquire and Replace are
// refused with ErrShowingLocked; the seat locks they have already stay theirs, to renew and to release.
// Errors: ErrShowingLocked when someone else has it, otherwise as Acquire. Renew, Keep and Release take
// such a lock as the seat WholeShowing.
func (l *Locker) LockShowing(ctx context.Context, showing, owner uuid.UUID, id string, ttl time.Duration) (Held, error) {
	return l.Acquire(ctx, Request{Showing: showing, Seats: []string{WholeShowing}, Owner: owner, ID: id, TTL: ttl})
}

// UnlockShowing ends that acquisition of a whole showing. Errors as Release.
func (l *Locker) UnlockShowing(ctx context.Context, showing, owner uuid.UUID, id string) error {
	return l.Release(ctx, showing, owner, id, []string{WholeShowing})
}

// LockShowings locks several whole showings for one owner, all or none. They are taken in the order of
// their ids, so that two who want the same ones can't wait for each other's halves; when one is refused
// those taken so far are given back. Repeats in showings are locked once. Errors: as LockShowing, with
// the showing's id; what could not be given back (Redis went away meanwhile) ends with its TTL.
func (l *Locker) LockShowings(ctx context.Context, showings []uuid.UUID, owner uuid.UUID, id string, ttl time.Duration) (map[uuid.UUID]Held, error) {
	sorted := slices.Clone(showings)
	slices.SortFunc(sorted, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	sorted = slices.Compact(sorted)
	all := make(map[uuid.UUID]Held, len(sorted))
	for i, showing := range sorted {
		held, err := l.LockShowing(ctx, showing, owner, id, ttl)
		if err == nil {
			all[showing] = held
			continue
		}
		err = fmt.Errorf("showing %v: %w", showing, err)
		// The one that failed may be locked all the same when only its answer was lost. The
		// caller's context may be what ended, and giving back must not depend on it.
		_ = l.UnlockShowings(context.WithoutCancel(ctx), sorted[:i+1], owner, id)
		return nil, err
	}
	return all, nil
}

// UnlockShowings ends that acquisition on each of the showings. One that fails does not keep it from
// the others; the errors are joined, each as of Release.
func (l *Locker) UnlockShowings(ctx context.Context, showings []uuid.UUID, owner uuid.UUID, id string) error {
	var errs []error
	for _, showing := range showings {
		if err := l.UnlockShowing(ctx, showing, owner, id); err != nil {
			errs = append(errs, fmt.Errorf("showing %v: %w", showing, err))
		}
	}
	return errors.Join(errs...)
}
