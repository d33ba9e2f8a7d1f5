package lock_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/lock"
)

// gate holds pipelines at the door until the test lets them go, and tells how many calls each one carries.
type gate struct {
	arrived chan int
	open    chan struct{}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return next(ctx, cmd) }
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.arrived <- len(cmds)
		<-g.open
		return next(ctx, cmds)
	}
}

// gated is a rig whose scripts Redis knows and whose pipelines go through a gate.
func gated(t *testing.T, cfg lock.Config) (*rig, *gate) {
	t.Helper()
	r := single(t)
	showing, owner := uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, owner, "1", "A1"))
	require.NoError(t, err)
	door := &gate{arrived: make(chan int, 100), open: make(chan struct{})}
	r.client.AddHook(door)
	cfg.Prefix = r.cfg.Prefix
	return rigOn(t, r.client, cfg), door
}

// While one pipeline is under way the next one fills: nobody waits for company, and everybody travels together.
func TestCallsGatherWhileAPipelineIsUnderWay(t *testing.T) {
	t.Parallel()
	seen := make(chan lock.Observation, 100)
	r, door := gated(t, lock.Config{Timeout: patience, MaxBatch: 8, Observe: func(o lock.Observation) { seen <- o }})
	showing := uuid.New()
	var callers sync.WaitGroup
	acquire := func(seat string) {
		callers.Go(func() {
			_, err := r.Acquire(t.Context(), want(showing, uuid.New(), "1", seat))
			if err != nil {
				t.Error(err)
			}
		})
	}
	acquire("first")
	require.Equal(t, 1, <-door.arrived, "the first travels at once and alone")
	for i := range 10 {
		acquire(fmt.Sprint("A", i))
	}
	require.Eventually(t, func() bool { return r.Waiting() == 10 }, patience, time.Millisecond)
	close(door.open)
	require.Equal(t, 8, <-door.arrived, "as many as a batch may carry")
	require.Equal(t, 2, <-door.arrived)
	callers.Wait()
	for range 11 {
		o := <-seen
		require.Equal(t, "acquire", o.Op)
		require.Equal(t, "ok", o.Outcome)
	}
}

func TestFullQueueRefusesAtOnce(t *testing.T) {
	t.Parallel()
	r, door := gated(t, lock.Config{Timeout: patience, MaxQueue: 3})
	showing := uuid.New()
	var callers sync.WaitGroup
	acquire := func(seat string) {
		callers.Go(func() {
			if _, err := r.Acquire(t.Context(), want(showing, uuid.New(), "1", seat)); err != nil {
				t.Error(err)
			}
		})
	}
	acquire("under way")
	<-door.arrived
	for i := range 3 {
		acquire(fmt.Sprint("A", i))
	}
	require.Eventually(t, func() bool { return r.Waiting() == 3 }, patience, time.Millisecond)
	_, err := r.Acquire(t.Context(), want(showing, uuid.New(), "1", "B1"))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "the queue is full")
	close(door.open)
	callers.Wait()
}

// A caller that gave up while it waited is not served behind its back.
func TestAbandonedCallIsNeverSent(t *testing.T) {
	t.Parallel()
	r, door := gated(t, lock.Config{Timeout: patience})
	showing, ann := uuid.New(), uuid.New()
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1")); err != nil {
			t.Error(err)
		}
	})
	<-door.arrived
	ctx, giveUp := context.WithCancel(t.Context())
	callers.Go(func() {
		if _, err := r.Acquire(ctx, want(showing, ann, "2", "A2")); err == nil {
			t.Error("served all the same")
		}
	})
	require.Eventually(t, func() bool { return r.Waiting() == 1 }, patience, time.Millisecond)
	giveUp()
	callers.Go(func() {
		if _, err := r.Acquire(t.Context(), want(showing, ann, "3", "A3")); err != nil {
			t.Error(err)
		}
	})
	require.Eventually(t, func() bool { return r.Waiting() == 2 }, patience, time.Millisecond)
	close(door.open)
	callers.Wait()
	require.Equal(t, map[string]uuid.UUID{"A1": ann, "A3": ann}, r.owners(t.Context(), t, showing))
}
