package lock_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/lock"
)

func wholeShowing(t *testing.T, r *rig) {
	t.Helper()
	showing, staff, ann, bob := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)
	_, err = r.LockShowing(t.Context(), showing, staff, "1", time.Minute)
	require.NoError(t, err, "seat locks that exist do not stand in the way")

	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "B1"))
	require.ErrorIs(t, err, lock.ErrShowingLocked)
	_, err = r.Replace(t.Context(), want(showing, bob, "1", "A1"), map[string]uuid.UUID{"A1": ann})
	require.ErrorIs(t, err, lock.ErrShowingLocked)
	_, err = r.LockShowing(t.Context(), showing, bob, "1", time.Minute)
	require.ErrorIs(t, err, lock.ErrShowingLocked)
	_, err = r.Renew(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)
	_, err = r.Acquire(t.Context(), want(showing, staff, "2", "C1"))
	require.NoError(t, err, "who has the showing may lock seats of it")
	_, err = r.Renew(t.Context(), want(showing, staff, "", lock.WholeShowing))
	require.NoError(t, err)
	require.NoError(t, r.Release(t.Context(), showing, ann, "1", []string{"A1"}))

	require.ErrorIs(t, r.UnlockShowing(t.Context(), showing, bob, "1"), lock.ErrNotHeld)
	require.NoError(t, r.UnlockShowing(t.Context(), showing, staff, "1"))
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "B1"))
	require.NoError(t, err)

	_, err = r.LockShowing(t.Context(), showing, staff, "3", time.Minute)
	require.NoError(t, err)
	r.over(t.Context(), t, showing, lock.WholeShowing)
	_, err = r.Acquire(t.Context(), want(showing, bob, "2", "B2"))
	require.NoError(t, err, "a showing's lock ends with its time too")
}

func severalShowings(t *testing.T, r *rig) {
	t.Helper()
	low := uuid.MustParse("00000000-0000-4000-8000-" + uuid.NewString()[24:])
	mid := uuid.MustParse("55555555-0000-4000-8000-" + uuid.NewString()[24:])
	high := uuid.MustParse("ffffffff-0000-4000-8000-" + uuid.NewString()[24:])
	ann, bob := uuid.New(), uuid.New()
	_, err := r.LockShowing(t.Context(), mid, bob, "1", time.Minute)
	require.NoError(t, err)

	_, err = r.LockShowings(t.Context(), []uuid.UUID{high, mid, low, mid}, ann, "1", time.Minute)
	require.ErrorIs(t, err, lock.ErrShowingLocked)
	require.ErrorContains(t, err, mid.String())
	require.Empty(t, r.owners(t.Context(), t, low), "given back")
	require.Empty(t, r.owners(t.Context(), t, high), "never reached")
	require.Equal(t, bob, r.owners(t.Context(), t, mid)[lock.WholeShowing])

	require.NoError(t, r.UnlockShowing(t.Context(), mid, bob, "1"))
	held, err := r.LockShowings(t.Context(), []uuid.UUID{high, mid, low, mid}, ann, "2", time.Minute)
	require.NoError(t, err)
	require.Len(t, held, 3)
	require.NoError(t, r.UnlockShowings(t.Context(), []uuid.UUID{low, mid, high}, ann, "2"))

	// Two who want the same showings from opposite ends: one of them always gets on.
	var both sync.WaitGroup
	for owner, order := range map[uuid.UUID][]uuid.UUID{ann: {low, mid, high}, bob: {high, mid, low}} {
		both.Go(func() {
			for i := range 50 {
				id := fmt.Sprint("round", i)
				_, err := r.LockShowings(t.Context(), order, owner, id, time.Minute)
				if err == nil {
					err = r.UnlockShowings(t.Context(), order, owner, id)
				} else if errors.Is(err, lock.ErrShowingLocked) {
					err = nil
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	for _, showing := range []uuid.UUID{low, mid, high} {
		require.Empty(t, r.owners(t.Context(), t, showing))
	}
}
