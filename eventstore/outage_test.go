package eventstore_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// cable is the line between a store and its database.
type cable struct {
	fixture
	proxy *toxiproxy.Proxy
	name  string // of the store's connections in pg_stat_activity
}

func newCable(t *testing.T, cfg eventstore.Config) cable {
	t.Helper()
	direct := stacktest.Postgres(t)
	_, err := eventstore.Migrate(t.Context(), direct, "")
	require.NoError(t, err)
	u, err := url.Parse(direct)
	require.NoError(t, err)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "postgres", "127.0.0.1:0", u.Host)
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	u.Host = proxy.Listen
	name := "cable-" + uuid.NewString()
	f := openStore(t, direct, withQuery(t, u.String(), "application_name", name), cfg)
	return cable{f, proxy, name}
}

// prepared is a stream, after a first append over the line has prepared the connection.
func (c cable) prepared(t *testing.T) uuid.UUID {
	t.Helper()
	stream := c.stream(t)
	_, err := c.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:Z9")})
	require.NoError(t, err)
	return stream
}

// swallow loses what goes in that direction. With an end, each line is also cut after that many
// milliseconds; without, when repair is called.
func (c cable) swallow(t *testing.T, direction, end string) {
	t.Helper()
	_, err := c.proxy.Toxics.AddToxicJson(strings.NewReader(
		`{"name": "swallow", "type": "timeout", "stream": "` + direction + `", "attributes": {"timeout": ` + end + `}}`))
	require.NoError(t, err)
}

func (c cable) repair(t *testing.T) {
	t.Helper()
	require.NoError(t, c.proxy.Toxics.RemoveToxic(t.Context(), "swallow"))
}

// The line is cut after the commit and before the answer: the outcome is looked up by the command.
func TestAnswerLostAfterTheCommitIsLookedUp(t *testing.T) {
	t.Parallel()
	c := newCable(t, eventstore.Config{})
	stream := c.prepared(t)
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1")}

	c.swallow(t, "downstream", "0")
	answers := make(chan eventstore.Result, 1)
	go func() {
		res, err := c.Append(t.Context(), req)
		assert.NoError(t, err)
		answers <- res
	}()
	c.waitForHead(t, stream, 3)
	c.repair(t)

	res := <-answers
	require.NotNil(t, res.Replayed)
	assert.Equal(t, req.Command, res.Replayed.Command)
	assert.Equal(t, int64(3), res.Seq)
	c.waitForHead(t, stream, 3)
}

// Housekeeping has no command to look up: the outcome stays unknown, and nothing is repeated.
func TestAnswerLostWithoutACommandIsUnknown(t *testing.T) {
	t.Parallel()
	c := newCable(t, eventstore.Config{})
	stream := c.prepared(t)

	c.swallow(t, "downstream", "0")
	answers := make(chan error, 1)
	go func() {
		_, err := c.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A1")})
		answers <- err
	}()
	c.waitForHead(t, stream, 3)
	c.repair(t)

	require.ErrorIs(t, <-answers, eventstore.ErrOutcomeUnknown)
	c.waitForHead(t, stream, 3)
}

// The line is cut before the server got the append. Nobody can tell that from here, so the outcome is unknown
// even though the look-up finds nothing; the same command again does it, once.
func TestRequestLostOnTheWayIsUnknown(t *testing.T) {
	t.Parallel()
	c := newCable(t, eventstore.Config{})
	stream := c.prepared(t)
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1")}
	c.swallow(t, "upstream", "300")
	answers := make(chan error, 1)
	go func() {
		_, err := c.Append(t.Context(), req)
		answers <- err
	}()
	c.waitForNoConnection(t)
	c.repair(t)
	require.ErrorIs(t, <-answers, eventstore.ErrOutcomeUnknown)

	res, err := c.Append(t.Context(), req)
	require.NoError(t, err)
	assert.Nil(t, res.Replayed)
	assert.Equal(t, int64(3), res.Seq)
}

// The line stays dead: the caller hears so within the time-outs.
func TestDeadLineIsGivenUp(t *testing.T) {
	t.Parallel()
	c := newCable(t, eventstore.Config{AppendTimeout: 300 * time.Millisecond, LookupTimeout: 300 * time.Millisecond})
	stream := c.prepared(t)
	c.swallow(t, "downstream", "0")
	start := time.Now()
	_, err := c.Append(t.Context(), eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1")})
	require.ErrorIs(t, err, eventstore.ErrOutcomeUnknown)
	assert.Less(t, time.Since(start), 5*time.Second)
	c.repair(t)
	require.Eventually(t, func() bool { return c.Ping(t.Context()) == nil }, soon, 10*time.Millisecond)
}

// The server ends the connection of an append that waits for a lock. It says so, and once the look-up holds the
// stream it is certain that nothing was done.
func TestEndedServerProcessIsLookedUp(t *testing.T) {
	t.Parallel()
	c := newCable(t, eventstore.Config{})
	stream := c.stream(t)
	release := c.lock(t, stream)
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1")}
	answers := make(chan error, 1)
	go func() {
		_, err := c.Append(t.Context(), req)
		answers <- err
	}()
	c.waitUntil(t, `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE application_name = $1 AND wait_event_type = 'Lock')`, c.name)
	c.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", c.name)
	release()
	require.ErrorIs(t, <-answers, eventstore.ErrUnavailable)

	res, err := c.Append(t.Context(), req)
	require.NoError(t, err)
	assert.Nil(t, res.Replayed)
}

// A stream's row that stays locked costs its own lane two seconds, not the house.
func TestLockedStreamIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	pool := newPool(t, f.url, eventstore.PoolConfig{LockTimeout: 50 * time.Millisecond})
	s, err := eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.NoError(t, err)
	stream := f.stream(t)
	release := f.lock(t, stream)
	defer release()
	answers, _ := s.AppendBatch(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A1")})
	require.ErrorIs(t, answers[0].Err, eventstore.ErrUnavailable)
}

// PostgreSQL is stopped, started again, killed, and started again: what was acknowledged is there, the callers
// hear at once that nothing was done, and the log is still the same log.
func TestDatabaseGoesAndComesBack(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	_, err := eventstore.Migrate(t.Context(), stack.PostgresURL(), "")
	require.NoError(t, err)
	f := openStore(t, stack.PostgresURL(), stack.PostgresURL(), eventstore.Config{})
	stream := f.stream(t)
	log := f.LogID()

	for i, seat := range []string{"seat:A1", "seat:A2"} {
		req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events(seat)}
		if i == 0 {
			require.NoError(t, stack.StopPostgres(t.Context()))
		} else {
			require.NoError(t, stack.KillPostgres())
		}
		// A connection that the pool believes in may die under the first append, and a server process may live
		// a moment longer than its killed parent; the command makes both harmless.
		require.Eventually(t, func() bool {
			_, err := f.Append(t.Context(), req)
			return errors.Is(err, eventstore.ErrUnavailable)
		}, soon, 10*time.Millisecond)
		_, err = f.Read(t.Context(), stream, 0, 10)
		require.ErrorIs(t, err, eventstore.ErrUnavailable)
		require.ErrorIs(t, f.OpenStream(t.Context(), uuid.New(), event("showing", 0)), eventstore.ErrUnavailable)
		require.ErrorIs(t, f.Ping(t.Context()), eventstore.ErrUnavailable)

		require.NoError(t, stack.StartPostgres(t.Context()))
		require.Eventually(t, func() bool { return f.Ping(t.Context()) == nil }, soon, 10*time.Millisecond)
		res, err := f.Append(t.Context(), req)
		require.NoError(t, err)
		assert.Equal(t, int64(2+i), res.Seq)
		heads, err := f.Heads(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, log, heads.Log)
		assert.Equal(t, int64(2+i), heads.Positions[stream].Seq)
	}
}

func (f fixture) waitForHead(t *testing.T, stream uuid.UUID, seq int64) {
	t.Helper()
	f.waitUntil(t, "SELECT EXISTS (SELECT FROM streams WHERE id = $1 AND head = $2)", stream, seq)
}

func (c cable) waitForNoConnection(t *testing.T) {
	t.Helper()
	c.waitUntil(t, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1)", c.name)
}

// waitUntil waits for the owner to see the condition.
func (f fixture) waitUntil(t *testing.T, condition string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var holds bool
		f.scan(t, condition, args, &holds)
		return holds
	}, soon, 10*time.Millisecond)
}

// A delivery that failed waits, and longer each time. Once the log is back that is no reason to wait any more.
func TestFollowerGoesOnAtOnceWhenTheLogIsBack(t *testing.T) {
	t.Parallel()
	c := newCable(t, eventstore.Config{})
	stream := c.prepared(t)
	r, failures := newReader(), make(failures, 16)
	follower := follow(t, c.fixture, eventstore.FollowerConfig{
		Poll: fastPoll, RetryMin: time.Hour, RetryMax: time.Hour, Logger: slog.New(failures),
	}, &memory{}, r)
	r.waitFor(t, stream, 1, 2)

	require.NoError(t, c.proxy.Update(&toxiproxy.Proxy{Name: c.proxy.Name, Listen: c.proxy.Listen, Upstream: c.proxy.Upstream}))
	follower.Hint(stream, 3)
	failures.wait(t, "delivery of events failed")
	failures.wait(t, "looking at the log's heads fails")
	require.NoError(t, c.proxy.Start())
	require.Eventually(t, func() bool {
		_, err := c.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:B1")})
		return err == nil
	}, soon, fastPoll)
	r.waitFor(t, stream, 1, 2, 3)
}

// failures are what was logged: a slog.Handler.
type failures chan string

func (f failures) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (f failures) WithAttrs([]slog.Attr) slog.Handler               { return f }
func (f failures) WithGroup(string) slog.Handler                    { return f }

func (f failures) Handle(_ context.Context, r slog.Record) error {
	select {
	case f <- r.Message:
	default:
	}
	return nil
}

// wait takes what was logged until it is that.
func (f failures) wait(t *testing.T, message string) {
	t.Helper()
	for {
		select {
		case got := <-f:
			if got == message {
				return
			}
		case <-time.After(soon):
			t.Fatalf("nobody logged %q", message)
		}
	}
}
