package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/lock"
)

func TestSingle(t *testing.T) {
	t.Parallel()
	conform(t, single(t))
}

func TestSentinel(t *testing.T) { //nolint:tparallel // its parts come one after the other.
	t.Parallel()
	sentinel := stacktest.Sentinel(t)
	r := newRig(t, "redis+sentinel://"+strings.Join(sentinel.Addresses(), ",")+"/"+localstack.SentinelMaster, "s:")
	t.Run("conformance", func(t *testing.T) { //nolint:paralleltest // the failover comes after it, and disturbs it.
		conform(t, r)
	})
	t.Run("failover", func(t *testing.T) { //nolint:paralleltest // see above.
		failover(t, r, sentinel)
	})
}

// A failover may lose locks that were acknowledged: calls say so cleanly, and the new master goes on.
func failover(t *testing.T, r *rig, sentinel *localstack.Sentinel) {
	t.Helper()
	cfg := r.cfg
	cfg.Timeout, cfg.ProbeEvery = 0, 50*time.Millisecond
	r = rigOn(t, r.client, cfg)
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)

	asked := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addresses()[0]})
	defer func() { require.NoError(t, asked.Close()) }()
	master, err := asked.GetMasterAddrByName(t.Context(), localstack.SentinelMaster).Result()
	require.NoError(t, err)
	require.NoError(t, sentinel.KillServer(strings.Join(master, ":")))

	require.Eventually(t, func() bool {
		_, err := r.Acquire(t.Context(), want(showing, bob, "1", "B1"))
		if err != nil {
			require.ErrorIs(t, err, lock.ErrUnavailable)
		}
		return err == nil
	}, 30*time.Second, 20*time.Millisecond)
	_, err = r.Renew(t.Context(), want(showing, ann, "", "A1"))
	if err != nil {
		require.ErrorIs(t, err, lock.ErrNotHeld, "lost with the old master")
	}
}

func TestCluster(t *testing.T) { //nolint:tparallel // its parts come one after the other.
	t.Parallel()
	nodes := stacktest.Cluster(t)
	r := newRig(t, "redis+cluster://"+strings.Join(nodes.Addresses(), ","), "c:")
	t.Run("conformance", func(t *testing.T) { //nolint:paralleltest // what comes after disturbs it.
		conform(t, r)
	})
	t.Run("resharding", func(t *testing.T) { //nolint:paralleltest // see above.
		resharding(t, r)
	})
	t.Run("a node dies", func(t *testing.T) { //nolint:paralleltest // see above.
		nodeDies(t, r, nodes)
	})
}

// A showing's slot moves by hand from one node to another while its locks are used: ASK and MOVED are
// followed, no call fails, and no lock is lost.
func resharding(t *testing.T, r *rig) {
	t.Helper()
	ctx := t.Context()
	cluster, ok := r.client.(*redis.ClusterClient)
	require.True(t, ok)
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	use := func(id string) {
		t.Helper()
		_, err := r.Acquire(ctx, want(showing, ann, id, "A1", id))
		require.NoError(t, err)
		_, err = r.Renew(ctx, want(showing, ann, "", "A1"))
		require.NoError(t, err)
		_, err = r.Acquire(ctx, want(showing, bob, id, "A1"))
		var taken *lock.TakenError
		require.ErrorAs(t, err, &taken)
		require.NoError(t, r.Release(ctx, showing, ann, id, []string{id}))
	}
	use("before")

	slot, err := cluster.ClusterKeySlot(ctx, r.Key(showing)).Result()
	require.NoError(t, err)
	from, err := cluster.MasterForKey(ctx, r.Key(showing))
	require.NoError(t, err)
	to := otherMaster(ctx, t, cluster, from)
	fromID, toID := nodeID(ctx, t, from), nodeID(ctx, t, to)
	require.NoError(t, to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID).Err())
	require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID).Err())
	use("announced")

	host, port, _ := strings.Cut(to.Options().Addr, ":")
	require.NoError(t, from.Do(ctx, "MIGRATE", host, port, "", 0, 5000, "KEYS", r.Key(showing)).Err())
	use("asked")
	require.NoError(t, to.Do(ctx, "SCRIPT", "FLUSH").Err())
	use("asked, and the scripts are unknown there")

	require.NoError(t, to.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID).Err())
	require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID).Err())
	use("moved")
}

func otherMaster(ctx context.Context, t *testing.T, cluster *redis.ClusterClient, not *redis.Client) *redis.Client {
	t.Helper()
	found := make(chan *redis.Client, 16)
	require.NoError(t, cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr != not.Options().Addr {
			found <- node
		}
		return nil
	}))
	return <-found
}

func nodeID(ctx context.Context, t *testing.T, node *redis.Client) string {
	t.Helper()
	id, err := node.Do(ctx, "CLUSTER", "MYID").Text()
	require.NoError(t, err)
	return id
}

// One of three masters dies. Its showings are refused fast and come back with its replica; nobody else's
// calls fail or wait for it.
func nodeDies(t *testing.T, r *rig, nodes *localstack.Cluster) {
	t.Helper()
	ctx := t.Context()
	cluster, ok := r.client.(*redis.ClusterClient)
	require.True(t, ok)
	cfg := r.cfg
	cfg.Timeout, cfg.ProbeEvery = 250*time.Millisecond, 100*time.Millisecond
	r = rigOn(t, r.client, cfg)

	doomed, err := cluster.MasterForKey(ctx, r.Key(uuid.New()))
	require.NoError(t, err)
	showingOn := func(here bool) uuid.UUID {
		for {
			showing := uuid.New()
			node, err := cluster.MasterForKey(ctx, r.Key(showing))
			require.NoError(t, err)
			if (node.Options().Addr == doomed.Options().Addr) == here {
				return showing
			}
		}
	}
	prepareForFailover(ctx, t, nodes)
	gone, safe, owner := showingOn(true), showingOn(false), uuid.New()
	require.NoError(t, nodes.KillServer(doomed.Options().Addr))

	deadline := time.Now().Add(30 * time.Second)
	refused := 0
	for i := 0; ; i++ {
		require.Less(t, time.Now(), deadline, "the replica never took over")
		_, err := r.Acquire(ctx, want(gone, owner, "1", "A1"))
		if err == nil {
			break
		}
		require.ErrorIs(t, err, lock.ErrUnavailable)
		refused++
		_, err = r.Acquire(ctx, want(safe, owner, "1", "A1"))
		require.NoError(t, err, "a showing on a node that lives")
	}
	t.Logf("%d calls were refused meanwhile", refused)
	require.Positive(t, refused)
}

// prepareForFailover waits until the replicas are in step (one that never was does not take over), and lets
// the other nodes go on while some slot has no master, instead of answering CLUSTERDOWN.
func prepareForFailover(ctx context.Context, t *testing.T, nodes *localstack.Cluster) {
	t.Helper()
	for _, address := range nodes.Addresses() {
		node := redis.NewClient(&redis.Options{Addr: address})
		require.Eventually(t, func() bool {
			info, err := node.Info(ctx, "replication").Result()
			return err == nil && !strings.Contains(info, "master_link_status:down")
		}, patience, 20*time.Millisecond)
		require.NoError(t, node.ConfigSet(ctx, "cluster-require-full-coverage", "no").Err())
		require.NoError(t, node.Close())
	}
}
