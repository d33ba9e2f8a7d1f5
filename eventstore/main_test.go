package eventstore_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // many tests are about failures
	os.Exit(stacktest.Main(m, localstack.Postgres))
}

// fixture is a migrated schema with a running store on it.
type fixture struct {
	*eventstore.Store
	url  string
	pool *pgxpool.Pool
}

// newStore migrates a fresh schema and runs a store on it until the test ends.
func newStore(t testing.TB, cfg eventstore.Config) fixture {
	t.Helper()
	url := stacktest.Postgres(t)
	_, err := eventstore.Migrate(t.Context(), url, "")
	require.NoError(t, err)
	return openStore(t, url, url, cfg)
}

// openStore runs a store that connects by storeURL; the fixture's own pool connects by url.
func openStore(t testing.TB, url, storeURL string, cfg eventstore.Config) fixture {
	t.Helper()
	pool := newPool(t, storeURL, eventstore.PoolConfig{MaxConns: 8})
	s, err := eventstore.Open(t.Context(), pool, cfg)
	require.NoError(t, err)
	runUntilEnd(t, s.Run)
	direct := pool
	if url != storeURL {
		direct = newPool(t, url, eventstore.PoolConfig{})
	}
	return fixture{Store: s, url: url, pool: direct}
}

// runUntilEnd runs something until the test ends, and then waits for it.
func runUntilEnd(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
}

func newPool(t testing.TB, url string, cfg eventstore.PoolConfig) *pgxpool.Pool {
	t.Helper()
	pool, err := eventstore.NewPool(t.Context(), url, cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// stream opens a stream of its own for the test.
func (f fixture) stream(t testing.TB) uuid.UUID {
	t.Helper()
	stream := uuid.New()
	require.NoError(t, f.OpenStream(t.Context(), stream, event("showing", 0)))
	return stream
}

// exec runs statements as the owner.
func (f fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	_, err := f.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// scan reads one row as the owner.
func (f fixture) scan(t testing.TB, sql string, args []any, into ...any) {
	t.Helper()
	require.NoError(t, f.pool.QueryRow(t.Context(), sql, args...).Scan(into...))
}

// connect opens a connection of the test's own.
func (f fixture) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), f.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// event is an event of an entity after that entity's event at prev.
func event(entity string, prev int64) eventstore.NewEvent {
	return eventstore.NewEvent{
		Entity: entity, Prev: prev, Type: "Changed", Data: json.RawMessage(`{"by": "test"}`),
	}
}

// events are first events of entities.
func events(entities ...string) []eventstore.NewEvent {
	list := make([]eventstore.NewEvent, 0, len(entities))
	for _, e := range entities {
		list = append(list, event(e, 0))
	}
	return list
}

// command is a new session's command.
func command(key string) eventstore.Command {
	return eventstore.Command{
		Session: uuid.New(), Key: key, Route: "POST /bookings", Body: [32]byte{1}, Booking: uuid.New(), Status: 201,
	}
}

// hold is a session's request for seats: their events, the booking's own, and the index row.
func hold(stream, session, booking uuid.UUID, seats ...string) eventstore.Request {
	own := event("booking:"+booking.String(), 0)
	own.Deadline.In = 10 * time.Minute
	return eventstore.Request{
		Stream: stream,
		Events: append(events(seats...), own),
		Bookings: []eventstore.BookingChange{{
			ID: booking, Session: session, Entity: own.Entity, Held: true, State: "held", Seats: len(seats),
		}},
	}
}

// seqs are the events' numbers.
func seqs(list []eventstore.Event) []int64 {
	numbers := make([]int64, 0, len(list))
	for _, e := range list {
		numbers = append(numbers, e.Seq)
	}
	return numbers
}
