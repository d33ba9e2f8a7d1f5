package localstack_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	group := stacktest.Sentinel(t)
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: group.Addresses()[0]})
	t.Cleanup(func() { assert.NoError(t, sentinel.Close()) })
	master := func() string {
		address, err := sentinel.GetMasterAddrByName(t.Context(), localstack.SentinelMaster).Result()
		if err != nil {
			return ""
		}
		return address[0] + ":" + address[1]
	}
	first := master()
	require.NotEmpty(t, first)
	require.NoError(t, group.KillServer(first))
	require.Eventually(t, func() bool { m := master(); return m != "" && m != first }, 20*time.Second, 50*time.Millisecond)
}

func TestClusterServesAllSlots(t *testing.T) {
	t.Parallel()
	cluster := stacktest.Cluster(t)
	require.Len(t, cluster.Addresses(), 6)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addresses()})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	for _, key := range []string{"a", "b", "c"} { // one on each master
		require.NoError(t, client.Set(t.Context(), key, "v", 0).Err())
	}
}
