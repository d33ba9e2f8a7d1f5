package coord_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/aislehq/aisle/coord"
)

// The leader's summaries reach every replica: at most a hundred in a transaction, two transactions a second, and only
// what changed.
func TestSummariesAreWrittenInBatchesAndSeenByAll(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	terms, _ := a.candidate(t, "leader")
	one := next(t, terms, patience)
	client := etcd(t, cfg.Endpoints)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writes := client.Watch(ctx, cfg.Prefix+"/showings/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	require.True(t, (<-writes).Created)

	const showings = 250
	began := time.Now()
	for i := range showings {
		a.Summaries().Put("s"+strconv.Itoa(i), coord.Summary{Left: i, Seq: 1, Epoch: one.Epoch})
	}
	b.Summaries().Put("s0", coord.Summary{Left: 999, Seq: 9, Epoch: one.Epoch})     // it doesn't lead
	a.Summaries().Put("s0", coord.Summary{Left: 999, Seq: 9, Epoch: one.Epoch - 1}) // a term that is over
	each, total := map[int64]int{}, 0
	for total < showings {
		for _, event := range (<-writes).Events {
			each[event.Kv.ModRevision]++
			total++
			require.NotZero(t, event.Kv.Lease)
		}
	}
	require.Len(t, each, 3, "in three transactions")
	for _, n := range each {
		require.LessOrEqual(t, n, 100)
	}
	require.GreaterOrEqual(t, time.Since(began), time.Second, "half a second apart")
	require.Equal(t, showings, total)

	for _, r := range []*replica{a, b} {
		require.Eventually(t, func() bool {
			for i := range showings {
				if _, ok := r.Summaries().Get("s" + strconv.Itoa(i)); !ok {
					return false
				}
			}
			return true
		}, patience, tick)
		for i := range showings {
			got, ok := r.Summaries().Get("s" + strconv.Itoa(i))
			require.True(t, ok)
			require.Equal(t, coord.Summary{Left: i, Seq: 1, Epoch: one.Epoch}, got)
		}
	}
	_, ok := b.Summaries().Get("unheard of")
	require.False(t, ok)

	for i := range showings {
		a.Summaries().Put("s"+strconv.Itoa(i), coord.Summary{Left: i, Seq: 1, Epoch: one.Epoch})
	}
	a.Summaries().Put("s7", coord.Summary{Left: 6, Seq: 2, Epoch: one.Epoch})
	again := (<-writes).Events
	require.Len(t, again, 1, "only what changed")
	require.JSONEq(t, `{"left":6,"seq":2,"epoch":`+strconv.FormatInt(one.Epoch, 10)+`}`, string(again[0].Kv.Value))
}

// The keys go with the leader's lease; replicas remember what they said until the next leader says something else.
func TestSummariesGoWithTheLeadersLease(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	as, _ := a.candidate(t, "leader")
	one := next(t, as, patience)
	old := coord.Summary{Left: 5, Seq: 1, Epoch: one.Epoch}
	a.Summaries().Put("s1", old)
	require.Eventually(t, func() bool { _, ok := b.Summaries().Get("s1"); return ok }, patience, tick)
	a.stop()
	client := etcd(t, cfg.Endpoints)
	require.Empty(t, keys(t, client, cfg.Prefix+"/showings/"))
	require.Eventually(t, func() bool { _, known := b.Leader("leader"); return !known }, patience, tick)
	got, ok := b.Summaries().Get("s1")
	require.True(t, ok)
	require.Equal(t, old, got)

	bs, _ := b.candidate(t, "leader")
	two := next(t, bs, patience)
	fresh := coord.Summary{Left: 5, Seq: 1, Epoch: two.Epoch}
	b.Summaries().Put("s1", fresh)
	require.Eventually(t, func() bool { got, _ := b.Summaries().Get("s1"); return got == fresh }, patience, tick)
	require.Equal(t, []string{"s1"}, keys(t, client, cfg.Prefix+"/showings/"))
}

// Whoever lost the office without knowing yet writes nothing: each transaction asks for the ballot.
func TestLeaderOfYesterdayWritesNoSummaries(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a := start(t, cfg)
	as, _ := a.candidate(t, "leader")
	one := next(t, as, patience)
	client := etcd(t, cfg.Endpoints)
	_, err := client.Delete(t.Context(), cfg.Prefix+"/elections/", clientv3.WithPrefix())
	require.NoError(t, err)
	a.Summaries().Put("s1", coord.Summary{Left: 5, Seq: 1, Epoch: one.Epoch})
	require.Never(t, func() bool { _, ok := a.Summaries().Get("s1"); return ok }, 1200*time.Millisecond, 50*time.Millisecond)
	require.Empty(t, keys(t, client, cfg.Prefix+"/showings/"))
}
