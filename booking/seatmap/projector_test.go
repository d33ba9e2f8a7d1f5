package seatmap

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

func TestAHoldsLockGoesWhenTheBookingEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing, id := h.showing(t), uuid.New()
	key := func(showing uuid.UUID) string { return h.prefix + "{" + showing.String() + "}:locks" }
	require.NoError(t, h.redis.HSet(t.Context(), key(showing), "A1", id.String()+"|1", "A2", id.String()+"|1").Err())
	h.lead(t, ProjectorConfig{LockKey: key}, lease(7, time.Minute))
	held := h.sell(t, showing, hold(id, "A1", "A2")).Seq
	h.awaitStored(t, showing, held)
	require.Equal(t, int64(2), h.redis.HLen(t.Context(), key(showing)).Val(), "a hold keeps its locks")
	released := h.sell(t, showing, release(id, "A1", "A2")).Seq
	h.awaitStored(t, showing, released)
	require.Equal(t, int64(0), h.redis.HLen(t.Context(), key(showing)).Val())
}

// Snapshots live by the leader's lease: refreshed while it leads, gone when it is over.
func TestSnapshotsDieWithTheLease(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	const left = 1500 * time.Millisecond
	stop := h.lead(t, ProjectorConfig{RefreshEvery: 100 * time.Millisecond}, lease(7, left))
	h.awaitStored(t, showing, 1)
	key := SnapshotKey(h.prefix, showing)
	ttl, err := h.redis.PTTL(t.Context(), key).Result()
	require.NoError(t, err)
	require.Greater(t, ttl, time.Duration(0))
	require.LessOrEqual(t, ttl, left)
	// Refreshed, it outlives the time it was given at first.
	require.Never(t, func() bool { return h.redis.Exists(t.Context(), key).Val() == 0 }, 2*left, 50*time.Millisecond)
	stop()
	require.Eventually(t, func() bool { return h.redis.Exists(t.Context(), key).Val() == 0 },
		2*left, 20*time.Millisecond)
}

func TestNothingIsWrittenWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	var summed sync.Map
	h.lead(t, ProjectorConfig{
		RefreshEvery: 20 * time.Millisecond,
		OnSummary:    func(showing uuid.UUID, s Summary) { summed.Store(showing, s) },
	}, lease(7, 0))
	require.Eventually(t, func() bool { _, ok := summed.Load(showing); return ok }, patience, 10*time.Millisecond)
	require.Equal(t, int64(0), h.redis.Exists(t.Context(), SnapshotKey(h.prefix, showing)).Val())
}

func TestSummariesAreToldAtTheStartAndAfterEachChange(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing, id := h.showing(t), uuid.New()
	first := make(chan Summary, 100)
	stop := h.lead(t, ProjectorConfig{OnSummary: func(_ uuid.UUID, s Summary) { first <- s }}, lease(7, time.Minute))
	require.Equal(t, Summary{Seq: 1, Available: 60, Epoch: 7}, take(t, first))
	h.sell(t, showing, hold(id, "A1", "A2"))
	require.Equal(t, Summary{Seq: 4, Available: 58, Epoch: 7}, take(t, first))
	h.sell(t, showing, confirm(id, "A1", "A2"))
	require.Equal(t, Summary{Seq: 7, Available: 58, Epoch: 7}, take(t, first))
	h.awaitStored(t, showing, 7)
	stop()
	// The next leader goes on from the snapshot, and says so although nothing changes.
	second := make(chan Summary, 100)
	h.lead(t, ProjectorConfig{OnSummary: func(_ uuid.UUID, s Summary) { second <- s }}, lease(8, time.Minute))
	require.Equal(t, Summary{Seq: 7, Available: 58, Epoch: 8}, take(t, second))
}

func take[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// More showings than states fit into memory: those that were dropped come back from their snapshots, or
// from the log when the snapshot is gone.
func TestStatesThatWereDroppedComeBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var showings []uuid.UUID
	for range 6 {
		showings = append(showings, h.showing(t))
	}
	h.lead(t, ProjectorConfig{MaxStates: 2, Page: 2}, lease(7, time.Minute))
	for round, seat := range []booking.Seat{"A1", "A2", "A3"} {
		for i, showing := range showings {
			if round == 2 && i%2 == 0 {
				require.NoError(t, h.redis.Del(t.Context(), SnapshotKey(h.prefix, showing)).Err())
			}
			seq := h.sell(t, showing, hold(uuid.New(), seat)).Seq
			h.awaitStored(t, showing, seq)
		}
	}
	for _, showing := range showings {
		s, ok := h.stored(t, showing)
		require.True(t, ok)
		require.Len(t, s.state.Bookings, 3)
		require.Equal(t, 3, s.taken)
	}
}

// Redis loses everything, its scripts too: the snapshots are there again after the next refresh.
func TestSnapshotsAreRebuiltAfterRedisLostThem(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Redis)
	h := openHouse(t, stacktest.Postgres(t), stack.RedisURL(), "own:")
	showing := h.showing(t)
	h.lead(t, ProjectorConfig{RefreshEvery: 100 * time.Millisecond, MaxStates: 1}, lease(7, time.Minute))
	other := h.showing(t)
	seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
	before := h.awaitStored(t, showing, seq)
	h.awaitStored(t, other, 1)
	require.NoError(t, h.redis.FlushAll(t.Context()).Err())
	require.NoError(t, h.redis.ScriptFlush(t.Context()).Err())
	require.Equal(t, before.state, h.awaitStored(t, showing, seq).state)
	h.awaitStored(t, other, 1)

	// And while it was gone, what was sold is in them when it is back.
	require.NoError(t, stack.StopRedis(t.Context()))
	seq = h.sell(t, showing, hold(uuid.New(), "A2")).Seq
	require.Eventually(t, func() bool { return h.notes.count("can't be written") > 0 }, patience, 10*time.Millisecond)
	require.NoError(t, stack.StartRedis(t.Context()))
	require.Equal(t, booking.Held, h.awaitStored(t, showing, seq).state.Seats["A2"].Status)
}

// Rubbish under a snapshot's key is overwritten, whatever it says.
func TestRubbishIsOverwritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.lead(t, ProjectorConfig{RefreshEvery: 50 * time.Millisecond}, lease(7, time.Minute))
	for name, spoil := range map[string]func(ctx context.Context, key string) error{
		"a string":     func(ctx context.Context, key string) error { return h.redis.Set(ctx, key, "x", 0).Err() },
		"no seq":       func(ctx context.Context, key string) error { return h.redis.HSet(ctx, key, "seq", "x").Err() },
		"seq too high": func(ctx context.Context, key string) error { return h.redis.HSet(ctx, key, "seq", "99999").Err() },
		"another event": func(ctx context.Context, key string) error {
			return h.redis.HSet(ctx, key, "event", uuid.NewString()).Err()
		},
		"another log":    func(ctx context.Context, key string) error { return h.redis.HSet(ctx, key, "log", "x").Err() },
		"another format": func(ctx context.Context, key string) error { return h.redis.HSet(ctx, key, "format", "x").Err() },
		"nothing": func(ctx context.Context, key string) error {
			return h.redis.Del(ctx, key).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			showing := h.showing(t)
			seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
			before := h.awaitStored(t, showing, seq)
			require.NoError(t, spoil(t.Context(), SnapshotKey(h.prefix, showing)))
			require.Eventually(t, func() bool {
				s, ok := h.stored(t, showing)
				return ok && s.position == before.position && s.log == before.log
			}, patience, 10*time.Millisecond)
		})
	}
}

// A new leader finds a snapshot that makes no sense and starts the showing from the log.
func TestALeaderStartsFromTheLogWhereSnapshotsMakeNoSense(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
	key := SnapshotKey(h.prefix, showing)
	require.NoError(t, h.redis.HSet(t.Context(), key, "format", storedFormat, "epoch", "3", "round", "0",
		"log", h.store.LogID(), "seq", "900", "event", "not a uuid", "taken", "0", "deadline", "0", "state", "{").Err())
	h.lead(t, ProjectorConfig{}, lease(7, time.Minute))
	require.Equal(t, seq, h.awaitStored(t, showing, seq).position.Seq)
	require.Equal(t, 1, h.notes.count("can't be used", key))
}

func TestHoldsAreSweptWhenTheNextOneRunsOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	swept := make(chan struct{}, 100)
	h.lead(t, ProjectorConfig{
		SweepEvery: 30 * time.Millisecond,
		Sweep: func(context.Context) (int, error) {
			swept <- struct{}{}
			return 0, nil
		},
	}, lease(7, time.Minute))
	for range 3 {
		take(t, swept)
	}
}

func TestTheNextDeadlineIsThatOfTheHoldThatRunsOutFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := newReign(h.projector(t, ProjectorConfig{}, h.store), lease(7, time.Minute))
	now := time.Now().UTC()
	require.True(t, r.nextDeadline(now).IsZero())
	for i, in := range []time.Duration{time.Hour, time.Minute, -time.Minute} {
		showing, id := uuid.New(), uuid.New()
		require.NoError(t, r.Handle(t.Context(), showing, []eventstore.Event{{
			Stream: showing, Seq: 1, ID: uuid.New(), Entity: booking.BookingEntity(id), Type: booking.TypeBookingHeld,
			Data:     json.RawMessage(`{"booking":"` + id.String() + `","state":"held","seats":["A1"]}`),
			Deadline: now.Add(in),
		}}), "hold %d", i)
	}
	require.Equal(t, now.Add(time.Minute), r.nextDeadline(now), "one that has run out is the sweep's own business")
	require.Equal(t, now.Add(time.Hour), r.nextDeadline(now.Add(time.Minute)))
}

// A delta with more events than one message should carry travels without them; maps read the log.
func TestALongDeltaTravelsWithoutItsEvents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	for range 100 {
		id := uuid.New()
		h.sell(t, showing, hold(id, "A1"))
		h.sell(t, showing, release(id, "A1"))
	}
	events := h.history(t, showing)
	payload, err := encodeDelta("l", 7, 0, events)
	require.NoError(t, err)
	m, err := decodeDelta(showing, string(payload))
	require.NoError(t, err)
	require.Empty(t, m.Events)
	require.Equal(t, int64(401), m.Seq)
	require.Less(t, len(payload), 200)

	l := h.live(t, LiveConfig{CheckEvery: time.Hour})
	opened, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer opened.Close()
	require.Eventually(t, func() bool {
		return h.redis.PubSubNumSub(t.Context(), DeltaChannel(h.prefix, showing)).Val()[DeltaChannel(h.prefix, showing)] == 1
	}, patience, time.Millisecond)
	seq := h.sell(t, showing, hold(uuid.New(), "A2")).Seq
	payload = fmt.Appendf(nil, `{"log":%q,"epoch":7,"prev":401,"seq":%d}`, opened.Snapshot().Log, seq)
	require.NoError(t, h.redis.Publish(t.Context(), DeltaChannel(h.prefix, showing), payload).Err())
	h.await(t, opened, seq)
}
