package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/lock"
)

func TestKeeperRenewsWhileItsOwnerLives(t *testing.T) {
	t.Parallel()
	renewed := make(chan lock.Observation, 100)
	r := single(t)
	cfg := r.cfg
	cfg.Observe = func(o lock.Observation) {
		if o.Op == "renew" {
			renewed <- o
		}
	}
	r = rigOn(t, r.client, cfg)
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	request := want(showing, ann, "1", "A1")
	request.TTL = 300 * time.Millisecond
	start := time.Now()
	_, err := r.Acquire(t.Context(), request)
	require.NoError(t, err)
	kept, stop := r.Keep(t.Context(), request)
	for range 6 {
		require.Equal(t, "ok", (<-renewed).Outcome)
	}
	require.Greater(t, time.Since(start), request.TTL, "it would be over by now")
	require.NoError(t, kept.Err())
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	require.Error(t, err)

	stop()
	stop()
	require.ErrorIs(t, context.Cause(kept), context.Canceled)
	require.Eventually(t, func() bool {
		_, err := r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
		return err == nil
	}, patience, 10*time.Millisecond)
}

func TestKeeperTellsThatTheLockIsLost(t *testing.T) {
	t.Parallel()
	r := single(t)
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	request := want(showing, ann, "1", "A1")
	request.TTL = 300 * time.Millisecond
	_, err := r.Acquire(t.Context(), request)
	require.NoError(t, err)
	kept, stop := r.Keep(t.Context(), request)
	defer stop()
	_, err = r.Replace(t.Context(), want(showing, bob, "1", "A1"), map[string]uuid.UUID{"A1": ann})
	require.NoError(t, err)
	<-kept.Done()
	require.ErrorIs(t, context.Cause(kept), lock.ErrNotHeld)
	require.Equal(t, bob, r.owners(t.Context(), t, showing)["A1"])
}

// Redis goes away under a keeper: the lock counts as lost when its time is over, and not before.
func TestKeeperGivesUpWhenTheLockMayBeOver(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	showing, ann := uuid.New(), uuid.New()
	request := want(showing, ann, "1", "A1")
	request.TTL = time.Second
	_, err := r.Acquire(t.Context(), request)
	require.NoError(t, err)
	proxy.Stop()
	start := time.Now()
	kept, stop := r.Keep(t.Context(), request)
	defer stop()
	<-kept.Done()
	require.ErrorIs(t, context.Cause(kept), lock.ErrUnavailable)
	require.GreaterOrEqual(t, time.Since(start), request.TTL)

	require.NoError(t, proxy.Start())
	request.TTL = 0
	kept, stop = r.Keep(t.Context(), request)
	defer stop()
	require.ErrorIs(t, context.Cause(kept), lock.ErrInvalidRequest)
}
