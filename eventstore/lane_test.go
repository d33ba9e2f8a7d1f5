package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// soon is how long a test waits for what should happen at once.
const soon = 10 * time.Second

// idleStore is a store that nobody runs yet.
func idleStore(t *testing.T, cfg eventstore.Config) fixture {
	t.Helper()
	url := stacktest.Postgres(t)
	_, err := eventstore.Migrate(t.Context(), url, "")
	require.NoError(t, err)
	pool := newPool(t, url, eventstore.PoolConfig{})
	s, err := eventstore.Open(t.Context(), pool, cfg)
	require.NoError(t, err)
	return fixture{Store: s, url: url, pool: pool}
}

// lock holds a stream's row until the returned function is called.
func (f fixture) lock(t *testing.T, stream uuid.UUID) (release func()) {
	t.Helper()
	tx, err := f.connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", stream)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(t.Context())) }
}

// While one flush is under way the next batch gathers: what came meanwhile goes together, in one flush.
func TestBatchGathersWhileAFlushIsUnderWay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var flushes []eventstore.FlushStats
	f := newStore(t, eventstore.Config{OnFlush: func(s eventstore.FlushStats) {
		mu.Lock()
		defer mu.Unlock()
		flushes = append(flushes, s)
	}})
	stream := f.stream(t)
	release := f.lock(t, stream)
	group, ctx := errgroup.WithContext(t.Context())
	send := func(seat string) {
		group.Go(func() error {
			_, err := f.Append(ctx, eventstore.Request{Stream: stream, Events: events(seat)})
			return err
		})
	}
	send("seat:Z1")
	waitForLock(t, f)
	for i := range 20 {
		send(fmt.Sprint("seat:", i))
	}
	require.Eventually(t, func() bool { return f.Queued() == 20 }, soon, time.Millisecond)
	release()
	require.NoError(t, group.Wait())

	mu.Lock()
	defer mu.Unlock()
	require.Len(t, flushes, 2)
	assert.Equal(t, 1, flushes[0].Requests)
	second := flushes[1]
	assert.Positive(t, second.Wait)
	assert.Positive(t, second.Took)
	second.Wait, second.Took = 0, 0
	assert.Equal(t, eventstore.FlushStats{Requests: 20, Passed: 20, Events: 20, Rounds: 1}, second)
}

func TestFullQueueIsOverloaded(t *testing.T) {
	t.Parallel()
	f := idleStore(t, eventstore.Config{Queue: 2})
	stream := f.stream(t)
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error, 2)
	for i := range 2 {
		go func() {
			_, err := f.Append(ctx, eventstore.Request{Stream: stream, Events: events("seat:A1")})
			answers <- err
		}()
		require.Eventually(t, func() bool { return f.Queued() == i+1 }, soon, time.Millisecond)
	}
	_, err := f.Append(ctx, eventstore.Request{Stream: stream, Events: events("seat:A1")})
	require.ErrorIs(t, err, eventstore.ErrOverloaded)
	cancel()
	for range 2 {
		require.ErrorIs(t, <-answers, context.Canceled)
	}
}

// A caller who stops waiting before anything was sent gets its context's error, and nothing is sent later.
func TestGivenUpRequestIsNotSent(t *testing.T) {
	t.Parallel()
	f := idleStore(t, eventstore.Config{})
	stream := f.stream(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Append(ended, eventstore.Request{Stream: stream, Events: events("seat:A1")})
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, f.Queued())

	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := f.Append(ctx, eventstore.Request{Stream: stream, Events: events("seat:A1")})
		answer <- err
	}()
	require.Eventually(t, func() bool { return f.Queued() == 1 }, soon, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-answer, context.Canceled)

	runUntilEnd(t, f.Run)
	res, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A2")})
	require.NoError(t, err)
	assert.Equal(t, int64(2), res.Seq, "the given up request came first and was left out")
}

// A caller who stops waiting while the append is under way doesn't know the outcome, and is told so.
func TestCallerLeavesWhileTheFlushIsUnderWay(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	release := f.lock(t, stream)
	ctx, cancel := context.WithCancel(t.Context())
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1")}
	answer := make(chan error, 1)
	go func() {
		_, err := f.Append(ctx, req)
		answer <- err
	}()
	waitForLock(t, f)
	cancel()
	err := <-answer
	require.ErrorIs(t, err, eventstore.ErrOutcomeUnknown)
	require.NotErrorIs(t, err, context.Canceled)
	release()

	res, err := f.Append(t.Context(), req)
	require.NoError(t, err)
	require.NotNil(t, res.Replayed, "the same command again finds what became of it")
}

func TestStopFlushesWhatIsQueued(t *testing.T) {
	t.Parallel()
	f := idleStore(t, eventstore.Config{})
	stream := f.stream(t)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range 30 {
		group.Go(func() error {
			_, err := f.Append(ctx, eventstore.Request{Stream: stream, Events: events(fmt.Sprint("seat:", i))})
			return err
		})
	}
	require.Eventually(t, func() bool { return f.Queued() == 30 }, soon, time.Millisecond)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, f.Run(stopped))
	require.NoError(t, group.Wait())

	_, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A1")})
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.ErrorIs(t, f.Run(t.Context()), eventstore.ErrInvalid)
}

// A database that doesn't answer must not keep the process from stopping.
func TestStopDoesNotWaitForeverForTheDatabase(t *testing.T) {
	t.Parallel()
	f := idleStore(t, eventstore.Config{AppendTimeout: 200 * time.Millisecond, LookupTimeout: 200 * time.Millisecond})
	stream := f.stream(t)
	release := f.lock(t, stream)
	defer release()
	answers := make(chan error, 600)
	for i := range 600 {
		go func() {
			_, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: events(fmt.Sprint("seat:", i))})
			answers <- err
		}()
	}
	require.Eventually(t, func() bool { return f.Queued() == 600 }, soon, time.Millisecond)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	start := time.Now()
	require.NoError(t, f.Run(stopped))
	assert.Less(t, time.Since(start), 5*time.Second)
	for range 600 {
		err := <-answers
		assert.True(t, errors.Is(err, eventstore.ErrOutcomeUnknown) || errors.Is(err, eventstore.ErrUnavailable), "%v", err)
	}
}

// With a pool of two, many callers that each need connections for appends, look-ups and heads don't wait for each
// other: nobody holds one connection while it waits for a second.
func TestSmallPoolNeverStarves(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{Lanes: 4})
	pool := newPool(t, f.url, eventstore.PoolConfig{MaxConns: 2})
	s, err := eventstore.Open(t.Context(), pool, eventstore.Config{Lanes: 4})
	require.NoError(t, err)
	runUntilEnd(t, s.Run)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for range 12 {
		stream := f.stream(t)
		group.Go(func() error {
			for i := range 5 {
				if _, err := s.Append(ctx, eventstore.Request{Stream: stream, Events: events(fmt.Sprint("seat:", i))}); err != nil {
					return err
				}
				if _, err := s.Heads(ctx, nil); err != nil {
					return err
				}
				if _, err := s.Read(ctx, stream, 0, 10); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// One request makes the database refuse the whole batch: the others are none the worse.
func TestOneRequestDoesNotFailTheBatch(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	f.refuseEntity(t, "seat:bad", "22000", "INITIALLY IMMEDIATE")

	answers, stats := f.AppendBatch(t.Context(),
		eventstore.Request{Stream: stream, Events: events("seat:A1")},
		eventstore.Request{Stream: stream, Events: events("seat:bad")},
		eventstore.Request{Stream: stream, Events: events("seat:A2")},
	)

	require.Error(t, stats.Err)
	require.NoError(t, answers[0].Err)
	require.ErrorIs(t, answers[1].Err, eventstore.ErrInvalid)
	require.NoError(t, answers[2].Err)
	assert.Equal(t, int64(3), answers[2].Result.Seq, "no gap")
}

// The commit itself fails, after the function had given its verdicts: nobody is told that it passed, and the
// connection goes on to serve.
func TestFailedCommitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	pool := newPool(t, f.url, eventstore.PoolConfig{MaxConns: 1})
	s, err := eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.NoError(t, err)
	stream := f.stream(t)
	f.refuseEntity(t, "seat:bad", "22000", "INITIALLY DEFERRED")
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:bad")}

	answers, _ := s.AppendBatch(t.Context(), req)
	require.ErrorIs(t, answers[0].Err, eventstore.ErrInvalid)

	assert.EqualValues(t, 1, pool.Stat().TotalConns())
	good := req
	good.Events = events("seat:A1")
	answers, _ = s.AppendBatch(t.Context(), good)
	require.NoError(t, answers[0].Err)
	assert.Nil(t, answers[0].Result.Replayed)
	assert.Equal(t, int64(2), answers[0].Result.Seq)
}

// The disk is full: nothing was done, and that is what the caller hears.
func TestServerOutOfResourcesIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	f.refuseEntity(t, "seat:bad", "53100", "INITIALLY DEFERRED")

	answers, _ := f.AppendBatch(t.Context(),
		eventstore.Request{Stream: stream, Events: events("seat:A1")},
		eventstore.Request{Stream: stream, Events: events("seat:bad")},
	)
	require.ErrorIs(t, answers[0].Err, eventstore.ErrUnavailable)
	require.ErrorIs(t, answers[1].Err, eventstore.ErrUnavailable)
	heads, err := f.Heads(t.Context(), []uuid.UUID{stream})
	require.NoError(t, err)
	assert.Equal(t, int64(1), heads.Positions[stream].Seq)
}

// refuseEntity makes the database fail on an event of that entity, at once or when the transaction commits.
func (f fixture) refuseEntity(t *testing.T, entity, sqlstate, when string) {
	t.Helper()
	schema := schemaOf(t, f)
	f.exec(t, fmt.Sprintf(`
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'refused by the test' USING ERRCODE = '%s'; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON events DEFERRABLE %s
		FOR EACH ROW WHEN (NEW.entity = '%s') EXECUTE FUNCTION %s.refuse()`, sqlstate, when, entity, schema))
}

func schemaOf(t *testing.T, f fixture) string {
	t.Helper()
	var schema string
	f.scan(t, "SELECT current_schema()", nil, &schema)
	return pgx.Identifier{schema}.Sanitize()
}

// The same key arrives on two streams, over two replicas, at the same moment, each time beside another request:
// one is first, the other is told so, and nobody else suffers. Nor do they deadlock when two pairs cross.
func TestSameKeyOnTwoStreamsAtOnce(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	g := openStore(t, f.url, f.url, eventstore.Config{})
	one, two := f.stream(t), f.stream(t)
	for i := range 25 {
		a, b := command("a"), command("b")
		b.Session = a.Session
		request := func(stream uuid.UUID, c eventstore.Command, seat string) eventstore.Request {
			return eventstore.Request{Stream: stream, Command: c, Events: events(fmt.Sprint("seat:", seat, i))}
		}
		var first, second []eventstore.Answer
		var failed [2]error
		var group errgroup.Group
		group.Go(func() error {
			var stats eventstore.FlushStats
			first, stats = f.AppendBatch(t.Context(), request(one, a, "A"), request(one, b, "B"), request(one, command("x"), "C"))
			failed[0] = stats.Err
			return nil
		})
		group.Go(func() error {
			var stats eventstore.FlushStats
			second, stats = g.AppendBatch(t.Context(), request(two, b, "B"), request(two, a, "A"), request(two, command("y"), "C"))
			failed[1] = stats.Err
			return nil
		})
		require.NoError(t, group.Wait())
		require.NoError(t, errors.Join(failed[:]...))
		fresh := 0
		for _, answer := range append(first, second...) {
			require.NoError(t, answer.Err)
			if answer.Result.Replayed == nil {
				fresh++
			}
		}
		assert.Equal(t, 4, fresh, "a and b once each, x and y")
	}
}

// Requests for {A1, A2} and {A2, A1} on two streams, over two replicas, in parallel: all or nothing each time,
// and no deadlock reaches anyone.
func TestCrossedRequestsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	g := openStore(t, f.url, f.url, eventstore.Config{Lanes: 4})
	streams := []uuid.UUID{f.stream(t), f.stream(t), f.stream(t)}
	var group errgroup.Group
	group.SetLimit(64)
	var mu sync.Mutex
	passed := map[uuid.UUID]int{}
	for i := range 500 {
		store, seats := f.Store, []string{"seat:A1", "seat:A2"}
		if i%2 == 0 {
			store, seats = g.Store, []string{"seat:A2", "seat:A1"}
		}
		stream := streams[i%len(streams)]
		group.Go(func() error {
			_, err := store.Append(t.Context(), eventstore.Request{Stream: stream, Events: events(seats...)})
			if guard, ok := errors.AsType[*eventstore.GuardError](err); ok && len(guard.Present) == 2 {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			passed[stream]++
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, stream := range streams {
		assert.Equal(t, 1, passed[stream])
		read, err := f.Read(t.Context(), stream, 0, 10)
		require.NoError(t, err)
		assert.Equal(t, []int64{1, 2, 3}, seqs(read))
	}
}

// Two people, one seat, a hundred tries at once over two replicas: one has it, and the log says so once.
func TestOneSeatIsSoldOnce(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	g := openStore(t, f.url, f.url, eventstore.Config{})
	stream := f.stream(t)
	var group errgroup.Group
	passed := make(chan struct{}, 100)
	for i := range 100 {
		store := []*eventstore.Store{f.Store, g.Store}[i%2]
		group.Go(func() error {
			_, err := store.Append(t.Context(), hold(stream, uuid.New(), uuid.New(), "seat:A1"))
			if err == nil {
				passed <- struct{}{}
			} else if !errors.As(err, new(*eventstore.GuardError)) {
				return err
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	assert.Len(t, passed, 1)
	read, err := f.Read(t.Context(), stream, 0, 10)
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 2, 3}, seqs(read))
}
