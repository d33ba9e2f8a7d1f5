package fleet

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestAFailoverLosesWhatADelayedReplicaMissed(t *testing.T) {
	t.Parallel()
	s, err := startSentinel(t.Context(), stacktest.Dir(t))
	require.NoError(t, err)
	all := &stores{kind: SentinelRedis, sentinel: s}
	all.connect()
	defer func() { require.NoError(t, all.stop(t.Context())) }()
	client := all.client
	require.NoError(t, client.Set(t.Context(), "kept", 1, 0).Err())
	require.EqualValues(t, 1, client.Do(t.Context(), "WAIT", 1, 0).Val())

	require.NoError(t, s.DelayReplica(t.Context()))
	require.NoError(t, client.Set(t.Context(), "lost", 1, 0).Err())
	dead, err := s.KillMaster(t.Context())
	require.NoError(t, err)
	master, err := s.AwaitMaster(t.Context(), dead)
	require.NoError(t, err)
	require.NotEqual(t, dead, master)
	var kept, lost int64
	require.Eventually(t, func() bool {
		kept, err = client.Exists(t.Context(), "kept").Result()
		return err == nil
	}, patience, pollEvery)
	lost, err = client.Exists(t.Context(), "lost").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, kept)
	require.Zero(t, lost)
	require.NoError(t, s.StartNode(t.Context(), dead))
	require.Eventually(t, func() bool { // the dead one is back, as a replica
		return client.Do(t.Context(), "WAIT", 1, 100).Val() == int64(1)
	}, patience, pollEvery)
}

func TestAClusterLosesAPrimaryAndMovesASlot(t *testing.T) {
	t.Parallel()
	c, err := startCluster(t.Context(), stacktest.Dir(t))
	require.NoError(t, err)
	all := &stores{kind: ClusterRedis, cluster: c}
	defer func() { require.NoError(t, all.stop(t.Context())) }()
	client := c.client
	for i := range 5 {
		require.NoError(t, client.Set(t.Context(), "{hot}:"+strconv.Itoa(i), i, 0).Err())
	}
	from, to, err := c.Reshard(t.Context(), "{hot}:0")
	require.NoError(t, err)
	primary, err := c.Primary(t.Context(), "{hot}:0")
	require.NoError(t, err)
	require.NotEqual(t, from, to)
	require.Equal(t, to, primary)
	for i := range 5 {
		require.Equal(t, strconv.Itoa(i), client.Get(t.Context(), "{hot}:"+strconv.Itoa(i)).Val())
	}
	dead, err := c.KillPrimary(t.Context(), "{hot}:0")
	require.NoError(t, err)
	require.Equal(t, to, dead)
	_, err = c.AwaitPrimary(t.Context(), "{hot}:0", dead)
	require.NoError(t, err)
	require.NoError(t, c.StartNode(t.Context(), dead))
}

func TestAMemberIsReadFromItsOwnLine(t *testing.T) {
	t.Parallel()
	m, ok := parseMember("07c3 127.0.0.1:30004@40004,host myself,master - 0 1426238317239 4 connected 0-100 7 [93-<-292f] [77->-e7d1]\n")
	require.True(t, ok)
	require.Equal(t, member{id: "07c3", primary: true, epoch: 4, slots: [][2]int{{0, 100}, {7, 7}}}, m)
	require.True(t, m.has(100))
	require.False(t, m.has(101))

	m, ok = parseMember("07c3 127.0.0.1:30004@40004,host myself,slave e7d1 0 1426238317239 4 connected\n")
	require.True(t, ok)
	require.False(t, m.primary)

	_, ok = parseMember("07c3 127.0.0.1:30004@40004,host master - 0 1426238317239 4 connected 0-100\n")
	require.False(t, ok, "another node's")
	_, ok = parseMember("\n")
	require.False(t, ok)
}
