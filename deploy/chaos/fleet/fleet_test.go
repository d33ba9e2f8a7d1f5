package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

const (
	patience = 20 * time.Second
	tick     = 20 * time.Millisecond
)

func TestReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	f, err := fleet.Start(t.Context(), fleet.Config{
		Dir: stacktest.Dir(t), Binary: program, Replicas: 2, LeaderTTL: 2 * time.Second,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Stop(t.Context())) }()
	require.Len(t, f.URLs(), 2)
	r := f.Replica(0)
	s, err := r.Sample(t.Context())
	require.NoError(t, err)
	t.Log(s)
	require.Eventually(t, func() bool { return f.Leader(t.Context()) != nil }, 10*time.Second, 20*time.Millisecond)
	require.NoError(t, f.CompactEtcd(t.Context()))
	require.NoError(t, r.Pause(t.Context()))
	require.NoError(t, r.Resume())
	code, err := r.Terminate(t.Context())
	require.NoError(t, err)
	require.Zero(t, code)
	require.NoError(t, r.Start(t.Context()))
	require.NoError(t, r.Kill())
	require.False(t, r.Alive())
	require.Len(t, f.URLs(), 1)
	require.NoError(t, f.KillPostgres())
	require.NoError(t, f.StartPostgres(t.Context()))
	require.NoError(t, f.KillRedis())
	require.NoError(t, f.StartRedis(t.Context()))
	require.NoError(t, f.StopEtcd(t.Context()))
	require.NoError(t, f.StartEtcd(t.Context()))
}
