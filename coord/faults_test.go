package coord_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/aislehq/aisle/coord"
	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func ownEtcd(t *testing.T) *localstack.Stack {
	t.Helper()
	return stacktest.Own(t, localstack.Etcd)
}

// A replica starts without etcd, finds it when it comes, outlives its going, and takes its place again when it is back.
func TestEtcdComesAndGoes(t *testing.T) {
	t.Parallel()
	stack := ownEtcd(t)
	require.NoError(t, stack.StopEtcd(t.Context()))
	cfg := coord.Config{Endpoints: stack.EtcdEndpoints(), ID: "a", TTL: 2 * time.Second}
	began := time.Now()
	a := start(t, cfg)
	terms, _ := a.candidate(t, "leader")
	a.Announce(coord.Replica{Address: "http://a"})
	require.Less(t, time.Since(began), soon)
	require.False(t, a.Connected())
	require.Empty(t, a.Replicas())
	a.Summaries().Put("s1", coord.Summary{Left: 1, Seq: 1, Epoch: 1})

	require.NoError(t, stack.StartEtcd(t.Context()))
	one := next(t, terms, patience)
	require.True(t, a.Connected())
	require.Eventually(t, func() bool { return len(a.Replicas()) == 1 }, patience, tick)

	require.NoError(t, stack.StopEtcd(t.Context()))
	stopped := time.Now()
	over(t, one.ended, "the term of a leader without etcd")
	require.Less(t, time.Since(stopped), one.TTL+time.Second)
	require.Eventually(t, func() bool { return !a.Connected() }, patience, tick)

	require.NoError(t, stack.StartEtcd(t.Context()))
	two := next(t, terms, patience)
	require.Greater(t, two.Epoch, one.Epoch)
	require.Eventually(t, a.Connected, patience, tick)
	require.Eventually(t, func() bool { return len(a.Replicas()) == 1 }, patience, tick)
	require.NoError(t, stack.StopEtcd(t.Context()), "and a replica stops without etcd too")
	began = time.Now()
	a.stop()
	require.Less(t, time.Since(began), soon)
}

// An answer that comes late says nothing about how long the lease lasts from now: it counts from the question.
func TestLateAnswersDoNotMakeTheLeaseLookYounger(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	cfg.TTL = 5 * time.Second
	cfg.Endpoints = []string{lateAnswers(t, cfg.Endpoints[0], 500*time.Millisecond)}
	a := start(t, cfg)
	terms, _ := a.candidate(t, "leader")
	one := next(t, terms, patience)
	for range 100 {
		// A tenth is the margin, and half a second has passed since any question that has been answered.
		require.LessOrEqual(t, one.Remaining(), 4*time.Second)
	}
	require.Positive(t, one.Remaining())
}

// lateAnswers is etcd's address behind a link that holds up what comes back.
func lateAnswers(t *testing.T, endpoint string, by time.Duration) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var links sync.WaitGroup
	links.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
			if err != nil {
				_ = near.Close()
				continue
			}
			late := make(chan chunk, 1000)
			links.Go(func() {
				_, _ = io.Copy(far, near)
				_ = far.Close()
			})
			links.Go(func() { readChunks(far, late) })
			links.Go(func() {
				for c := range late {
					<-time.After(time.Until(c.came.Add(by)))
					_, _ = near.Write(c.data)
				}
				_ = near.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		links.Wait()
	})
	return "http://" + listener.Addr().String()
}

type chunk struct {
	came time.Time
	data []byte
}

func readChunks(from io.Reader, to chan<- chunk) {
	defer close(to)
	for {
		data := make([]byte, 32<<10)
		n, err := from.Read(data)
		if err != nil {
			return
		}
		to <- chunk{came: time.Now(), data: data[:n]}
	}
}

func TestHistoryIsCompactedAndTheSpaceAlarmIsSeen(t *testing.T) {
	t.Parallel()
	stack := ownEtcd(t)
	client := etcd(t, stack.EtcdEndpoints())
	before, err := client.Put(t.Context(), "/elsewhere", "1")
	require.NoError(t, err)
	a := start(t, coord.Config{
		Endpoints: stack.EtcdEndpoints(), ID: "a", CompactEvery: 50 * time.Millisecond, AlarmEvery: 20 * time.Millisecond,
	})
	require.Eventually(t, func() bool {
		if _, err := client.Put(t.Context(), "/elsewhere", "2"); err != nil {
			return false
		}
		_, err := client.Get(t.Context(), "/elsewhere", clientv3.WithRev(before.Header.Revision))
		return rpctypes.Error(err) == rpctypes.ErrCompacted //nolint:errorlint // etcd's errors are compared so.
	}, patience, tick)
	require.False(t, a.Alarmed())

	status, err := client.Status(t.Context(), stack.EtcdEndpoints()[0])
	require.NoError(t, err)
	alarm := &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE,
	}
	_, err = etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), alarm)
	require.NoError(t, err)
	require.Eventually(t, a.Alarmed, patience, tick)
	alarm.Action = etcdserverpb.AlarmRequest_DEACTIVATE
	_, err = etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), alarm)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !a.Alarmed() }, patience, tick)
}
