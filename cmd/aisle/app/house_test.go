package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/cmd/aisle/app"
	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// house is a demo cinema on real stores, with as many replicas as a test starts.
type house struct {
	cfg     app.Config
	showing uuid.UUID
	store   *eventstore.Store
}

// newHouse opens a demo cinema on the stores that the tests of this package share.
func newHouse(t *testing.T) *house {
	t.Helper()
	redis, _ := stacktest.Redis(t)
	endpoints, _ := stacktest.Etcd(t)
	return openHouse(t, stacktest.Postgres(t), redis, endpoints)
}

// newOwnHouse opens one on stores of its own, for stopping them.
func newOwnHouse(t *testing.T) (*house, *localstack.Stack) {
	t.Helper()
	stack := stacktest.Own(t, localstack.Postgres|localstack.Redis|localstack.Etcd)
	return openHouse(t, stack.PostgresURL(), stack.RedisURL(), stack.EtcdEndpoints()), stack
}

func openHouse(t *testing.T, postgres, redis string, etcd []string) *house {
	t.Helper()
	_, err := eventstore.Migrate(t.Context(), postgres, "")
	require.NoError(t, err)
	pool, err := eventstore.NewPool(context.WithoutCancel(t.Context()), postgres, eventstore.PoolConfig{MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store, err := eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.NoError(t, err)
	_, err = catalogue.Demo(t.Context(), pool, store, time.Now())
	require.NoError(t, err)
	h := &house{store: store, cfg: app.Config{
		PostgresURL: postgres, RedisURL: redis, EtcdEndpoints: etcd,
		Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", Namespace: "test-" + uuid.NewString()[:8],
		HoldFor: 10 * time.Minute, MaxSeats: 10, CommandRate: 1000, CommandBurst: 1000, SessionRate: 60, SessionBurst: 60,
		MaxSockets: 2000, PostgresPool: 8, Lanes: 1, LeaderTTL: 2 * time.Second, DrainFor: 4 * time.Second,
	}}
	h.showing = openShowing(t, pool)
	return h
}

// openShowing is one of the demo cinema's showings that is on sale.
func openShowing(t *testing.T, pool *pgxpool.Pool) uuid.UUID {
	t.Helper()
	programme, err := catalogue.New(pool, catalogue.Config{})
	require.NoError(t, err)
	require.NoError(t, programme.Load(t.Context()))
	now := time.Now()
	for _, showing := range programme.List(time.Time{}, time.Time{}) {
		if showing.SalesState(now) == catalogue.SalesOpen {
			return showing.ID
		}
	}
	require.Fail(t, "the demo cinema has nothing on sale")
	return uuid.Nil
}

// replica is one running server.
type replica struct {
	url  string
	stop func()
}

// start runs a replica until the test ends or stop is called, which waits for its end.
func (h *house) start(t *testing.T, change ...func(*app.Config)) *replica {
	t.Helper()
	cfg := h.cfg
	for _, c := range change {
		c(&cfg)
	}
	ready := make(chan string, 1)
	server, err := app.New(cfg, "test", slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		func(url string) { ready <- url })
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	r := &replica{}
	var stopped bool
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-ended)
	}
	select {
	case r.url = <-ready:
	case err := <-ended:
		cancel()
		require.NoError(t, err, "the replica ended before it was ready")
	case <-time.After(patience):
		cancel()
		require.Fail(t, "the replica is not ready")
	}
	t.Cleanup(r.stop)
	return r
}

// testLog shows a replica's log when its test fails.
type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

// snapshot is the map that the leader's snapshot in Redis shows, once it has come to seq.
func (h *house) snapshot(ctx context.Context, t *testing.T, seq int64) map[string]string {
	t.Helper()
	client, err := lock.NewClient(h.cfg.RedisURL)
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	state := booking.NewState()
	key := seatmap.SnapshotKey(h.cfg.Namespace+":", h.showing)
	require.Eventually(t, func() bool {
		text, err := client.HGet(ctx, key, "state").Result()
		return err == nil && json.Unmarshal([]byte(text), state) == nil && state.Seq == seq
	}, patience, 20*time.Millisecond, "the snapshot comes to seq %d", seq)
	seats := map[string]string{}
	for _, seat := range allSeats() {
		seats[seat] = string(booking.Available)
		if s, ok := state.Seats[booking.Seat(seat)]; ok {
			seats[seat] = string(s.Status)
		}
	}
	return seats
}
