package seatmap

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

// On a Cluster all keys of a showing share a slot, so that no script meets CROSSSLOT, while those of
// different showings lie on different nodes: one round trip still does for many, and what one node
// publishes is heard through another.
func TestMapsOnACluster(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: stacktest.Cluster(t).Addresses()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	h.redis, h.prefix = client, "cluster:"
	var showings []uuid.UUID
	for range 12 { // on all three nodes, but for one time in a hundred
		showings = append(showings, h.showing(t))
	}
	key := func(showing uuid.UUID) string { return h.prefix + "{" + showing.String() + "}:locks" }
	stop := h.lead(t, ProjectorConfig{LockKey: key, RefreshEvery: 100 * time.Millisecond}, lease(7, time.Minute))
	l := h.live(t, LiveConfig{CheckEvery: time.Hour})
	for _, showing := range showings {
		m, err := l.Open(t.Context(), showing)
		require.NoError(t, err)
		t.Cleanup(m.Close)
		id := uuid.New()
		require.NoError(t, client.HSet(t.Context(), key(showing), "A1", id.String()+"|1").Err())
		h.sell(t, showing, hold(id, "A1"))
		seq := h.sell(t, showing, release(id, "A1")).Seq
		h.await(t, m, seq)
		h.awaitStored(t, showing, seq)
		require.Equal(t, int64(0), client.HLen(t.Context(), key(showing)).Val())
	}
	require.Positive(t, l.Stats().Deltas)

	// Lost on every node, written anew by the next refresh; then the next leader begins with them.
	for _, showing := range showings {
		require.NoError(t, client.Del(t.Context(), SnapshotKey(h.prefix, showing)).Err())
	}
	for _, showing := range showings {
		require.Equal(t, booking.Available, h.awaitStored(t, showing, 5).state.Seats["A1"].Status)
	}
	stop()
	summaries := make(chan Summary, 100)
	h.lead(t, ProjectorConfig{OnSummary: func(_ uuid.UUID, s Summary) { summaries <- s }}, lease(8, time.Minute))
	for range showings {
		require.Equal(t, Summary{Seq: 5, Available: 60, Epoch: 8}, take(t, summaries))
	}
}
