package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestTheClockOfRedisJumps(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	c, err := buildClock(t.Context(), dir+"/clock")
	require.NoError(t, err)
	stack, err := localstack.Start(t.Context(), localstack.Config{
		Dir: dir + "/redis", Services: localstack.Redis, RedisEnvironment: c.environment(),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, stack.Stop(context.WithoutCancel(t.Context()))) }()
	client := connect(address(stack.RedisURL()))
	defer func() { require.NoError(t, client.Close()) }()

	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour - 900*time.Millisecond, 0} {
		require.NoError(t, c.set(ahead))
		now, err := client.Time(t.Context()).Result()
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(ahead), now, 500*time.Millisecond)
	}
	require.NoError(t, client.Set(t.Context(), "key", 1, time.Minute).Err())
	require.NoError(t, c.set(time.Hour))
	require.Zero(t, client.Exists(t.Context(), "key").Val(), "what lives for a minute does not live through the jump")
}

func TestOurMountsAreKnownByTheirSource(t *testing.T) {
	t.Parallel()
	dir, pid, ok := parseMount(`69 25 0:44 / /tmp/some\040run/postgres rw,relatime shared:31 - tmpfs aisle-chaos-4711 rw,size=262144k,mode=755`)
	require.True(t, ok)
	require.Equal(t, "/tmp/some run/postgres", dir)
	require.Equal(t, 4711, pid)
	_, _, ok = parseMount(`25 30 0:23 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw`)
	require.False(t, ok)
	_, _, ok = parseMount("")
	require.False(t, ok)
}

func TestAnOwnerIsANumberAfterThePrefix(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"acv4711x3": 4711, "acv4711": 4711, "acv": 0, "acvx3": 0, "eth0": 0} {
		pid, ok := owner(name, cablePrefix)
		require.Equal(t, want, pid, name)
		require.Equal(t, want != 0, ok, name)
	}
}
