package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// reader is a Handler that keeps what it got, and complains of what an idempotent handler needn't bear.
type reader struct {
	mu     sync.Mutex
	seqs   map[uuid.UUID][]int64 // since the last reset
	resets map[uuid.UUID]int
	calls  int
	log    string
	refuse func(stream uuid.UUID, events []eventstore.Event) error
}

func newReader() *reader {
	return &reader{seqs: map[uuid.UUID][]int64{}, resets: map[uuid.UUID]int{}}
}

func (r *reader) Handle(ctx context.Context, stream uuid.UUID, events []eventstore.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.refuse != nil {
		if err := r.refuse(stream, events); err != nil {
			return err
		}
	}
	r.seqs[stream] = append(r.seqs[stream], seqs(events)...)
	return ctx.Err()
}

func (r *reader) Reset(_ context.Context, stream uuid.UUID, log string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resets[stream]++
	r.log = log
	delete(r.seqs, stream)
	return nil
}

func (r *reader) read(stream uuid.UUID) []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int64{}, r.seqs[stream]...)
}

func (r *reader) resetsOf(stream uuid.UUID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resets[stream]
}

// waitFor waits until the reader has exactly these events of the stream.
func (r *reader) waitFor(t *testing.T, stream uuid.UUID, want ...int64) {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.read(stream)) >= len(want) }, soon, 2*time.Millisecond,
		"%v of %v", r.read(stream), want)
	assert.Equal(t, want, r.read(stream))
}

// memory is Cursors in memory.
type memory struct {
	mu        sync.Mutex
	log       string
	positions map[uuid.UUID]eventstore.Position
	fail      error
}

func (m *memory) Load(_ context.Context, log string, _ []uuid.UUID) (map[uuid.UUID]eventstore.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	if m.log != log {
		return nil, nil
	}
	return maps.Clone(m.positions), nil
}

func (m *memory) Save(_ context.Context, log string, positions map[uuid.UUID]eventstore.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log != log || m.positions == nil {
		m.log, m.positions = log, map[uuid.UUID]eventstore.Position{}
	}
	maps.Copy(m.positions, positions)
	return m.fail
}

func (m *memory) set(f func(m *memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// slowPoll is so long that only hints wake the follower.
const slowPoll = time.Hour

// fastPoll wakes the follower without hints, for tests that wait for a look at the heads.
const fastPoll = 20 * time.Millisecond

// follow runs a follower until the test ends.
func follow(t *testing.T, f fixture, cfg eventstore.FollowerConfig, c eventstore.Cursors, h eventstore.Handler) *eventstore.Follower {
	t.Helper()
	follower := f.Follower(cfg, c, h)
	runUntilEnd(t, follower.Run)
	return follower
}

func (f fixture) add(t *testing.T, stream uuid.UUID, seat string) eventstore.Result {
	t.Helper()
	res, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: events(seat)})
	require.NoError(t, err)
	return res
}

func TestFollowerDeliversInOrderAndInBatches(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	for i := range 9 {
		f.add(t, stream, fmt.Sprint("seat:", i))
	}
	r := newReader()
	follow(t, f, eventstore.FollowerConfig{Batch: 4, Poll: slowPoll}, &memory{}, r)
	r.waitFor(t, stream, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	assert.Equal(t, 3, r.calls)
	assert.Equal(t, 1, r.resetsOf(stream), "no cursor: begin from nothing")
	assert.Equal(t, f.LogID(), r.log)
}

func TestHintWakesTheFollower(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	r := newReader()
	follower := follow(t, f, eventstore.FollowerConfig{Poll: slowPoll}, &memory{}, r)
	r.waitFor(t, stream, 1)

	res := f.add(t, stream, "seat:A1")
	follower.Hint(stream, res.Seq)
	r.waitFor(t, stream, 1, 2)

	// A stream that it doesn't know yet makes it look at the heads; a lie does no harm.
	other := f.stream(t)
	follower.Hint(other, 1)
	r.waitFor(t, other, 1)
	follower.Hint(stream, 99)
	follower.Hint(uuid.New(), 7)
	follower.Hint(stream, f.add(t, stream, "seat:A2").Seq)
	r.waitFor(t, stream, 1, 2, 3)
}

// The wake-up is lost: the reader has the event within about a second all the same, by default.
func TestLostHintCostsASecond(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	r := newReader()
	follow(t, f, eventstore.FollowerConfig{}, &memory{}, r)
	r.waitFor(t, stream, 1)
	start := time.Now()
	f.add(t, stream, "seat:A1")
	r.waitFor(t, stream, 1, 2)
	assert.Less(t, time.Since(start), 3*time.Second)
}

// Another database on the server, and another table of this one, hold a write transaction for long: a reader that waits
// for the oldest running transaction would stand still.
func TestLongTransactionElsewhereHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	f.exec(t, "CREATE TABLE aside (n integer)")
	for _, url := range []string{stacktest.Database(t), f.url} {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		_, err = conn.Exec(t.Context(), "BEGIN; CREATE TABLE IF NOT EXISTS aside (n integer); INSERT INTO aside VALUES (1)")
		require.NoError(t, err)
	}
	stream := f.stream(t)
	r := newReader()
	follow(t, f, eventstore.FollowerConfig{}, &memory{}, r)
	start := time.Now()
	for i := range 3 {
		f.add(t, stream, fmt.Sprint("seat:", i))
	}
	r.waitFor(t, stream, 1, 2, 3, 4)
	assert.Less(t, time.Since(start), 5*time.Second)
}

func TestFollowerGoesOnFromItsCursor(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	f.add(t, stream, "seat:A1")
	cursors := f.PostgresCursors("test")
	ctx, stop := context.WithCancel(t.Context())
	first := newReader()
	ended := make(chan error, 1)
	go func() { ended <- f.Follower(eventstore.FollowerConfig{Save: time.Hour}, cursors, first).Run(ctx) }()
	first.waitFor(t, stream, 1, 2)
	stop()
	require.NoError(t, <-ended)

	f.add(t, stream, "seat:A2")
	second := newReader()
	follow(t, f, eventstore.FollowerConfig{}, cursors, second)
	second.waitFor(t, stream, 3)
	assert.Zero(t, second.resetsOf(stream))

	// Another follower has cursors of its own.
	third := newReader()
	follow(t, f, eventstore.FollowerConfig{}, f.PostgresCursors("another"), third)
	third.waitFor(t, stream, 1, 2, 3)
}

// The database was restored to an earlier point while the cursor was kept: the reader starts anew.
func TestRestoredLogIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	past := func(stream uuid.UUID, at eventstore.Position) func(f fixture, m *memory) {
		return func(f fixture, m *memory) {
			m.log, m.positions = f.LogID(), map[uuid.UUID]eventstore.Position{stream: at}
		}
	}
	stream := uuid.New()
	for name, restore := range map[string]func(f fixture, m *memory){
		"the cursor is past the head":                past(stream, eventstore.Position{Seq: 9, Event: uuid.New()}),
		"another event is at the head":               past(stream, eventstore.Position{Seq: 3, Event: uuid.New()}),
		"another event is at the cursor, not a head": past(stream, eventstore.Position{Seq: 2, Event: uuid.New()}),
		"the cursor is of another log": func(_ fixture, m *memory) {
			m.log, m.positions = "another", map[uuid.UUID]eventstore.Position{stream: {Seq: 3}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newStore(t, eventstore.Config{})
			require.NoError(t, f.OpenStream(t.Context(), stream, event("showing", 0)))
			f.add(t, stream, "seat:A1")
			f.add(t, stream, "seat:A2")
			m := &memory{}
			restore(f, m)
			r := newReader()
			follow(t, f, eventstore.FollowerConfig{Poll: slowPoll}, m, r)
			r.waitFor(t, stream, 1, 2, 3)
			assert.Equal(t, 1, r.resetsOf(stream))
		})
	}
}

// The log is restored under a follower that runs, by a dump (another log id) or by the files of an earlier day
// (the same id, and another past).
func TestLogRestoredUnderARunningFollower(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"another log id":       "UPDATE log SET fingerprint = 'elsewhere'",
		"the same id, shorter": "SELECT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newStore(t, eventstore.Config{})
			stream, other := f.stream(t), f.stream(t)
			f.add(t, stream, "seat:A1")
			f.add(t, stream, "seat:A2")
			r := newReader()
			follow(t, f, eventstore.FollowerConfig{Poll: fastPoll}, &memory{}, r)
			r.waitFor(t, stream, 1, 2, 3)
			r.waitFor(t, other, 1)

			f.exec(t, `ALTER TABLE events DISABLE TRIGGER USER;
				DELETE FROM events WHERE seq > 2;
				UPDATE streams SET head = e.seq, event = e.id FROM events e
				WHERE e.stream = streams.id AND e.seq = 2;
				ALTER TABLE events ENABLE TRIGGER USER; `+change)

			require.Eventually(t, func() bool { return r.resetsOf(stream) == 2 }, soon, 2*time.Millisecond)
			r.waitFor(t, stream, 1, 2)
			f.add(t, stream, "seat:A3")
			r.waitFor(t, stream, 1, 2, 3)
			r.waitFor(t, other, 1)
		})
	}
}

// One stream's handler fails, another's never comes back: the rest is delivered, and the failing one is tried
// again until it works.
func TestBadStreamHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	failing, stuck, good := f.stream(t), f.stream(t), f.stream(t)
	r := newReader()
	works := make(chan struct{})
	attempts := 0
	r.refuse = func(stream uuid.UUID, _ []eventstore.Event) error {
		select {
		case <-works:
			return nil
		default:
		}
		if stream == failing {
			attempts++
			return errors.New("not now")
		}
		return nil
	}
	released := make(chan struct{})
	h := handlerFunc{r, func(ctx context.Context, stream uuid.UUID, events []eventstore.Event) error {
		if stream == stuck {
			select {
			case <-released:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return r.Handle(ctx, stream, events)
	}}
	cfg := eventstore.FollowerConfig{Poll: slowPoll, Workers: 2, RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond}
	follower := follow(t, f, cfg, &memory{}, h)
	r.waitFor(t, good, 1)
	for i := range 5 {
		follower.Hint(good, f.add(t, good, fmt.Sprint("seat:", i)).Seq)
	}
	r.waitFor(t, good, 1, 2, 3, 4, 5, 6)
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return attempts >= 3
	}, soon, time.Millisecond)
	assert.Empty(t, r.read(failing))
	assert.Empty(t, r.read(stuck))
	close(works)
	close(released)
	r.waitFor(t, failing, 1)
	r.waitFor(t, stuck, 1)
}

type handlerFunc struct {
	*reader
	handle func(ctx context.Context, stream uuid.UUID, events []eventstore.Event) error
}

func (h handlerFunc) Handle(ctx context.Context, stream uuid.UUID, events []eventstore.Event) error {
	return h.handle(ctx, stream, events)
}

func TestBackOffDoublesUpToItsMost(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 5: 1600 * time.Millisecond,
		8: 12800 * time.Millisecond, 9: 25600 * time.Millisecond, 10: 30 * time.Second, 1000: 30 * time.Second,
	} {
		assert.Equal(t, want, eventstore.BackOff(failures, 100*time.Millisecond, 30*time.Second), failures)
	}
}

// Streams come, are closed, and come back while the follower runs; the last events before the close are delivered too.
func TestStreamsComeAndGo(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	r := newReader()
	follower := follow(t, f, eventstore.FollowerConfig{Poll: fastPoll}, &memory{}, r)
	stream := f.stream(t)
	r.waitFor(t, stream, 1)
	f.add(t, stream, "seat:A1")
	require.NoError(t, f.CloseStream(t.Context(), stream))
	r.waitFor(t, stream, 1, 2)

	other := f.stream(t)
	r.waitFor(t, other, 1)
	heads, err := f.Heads(t.Context(), nil)
	require.NoError(t, err)
	assert.NotContains(t, heads.Positions, stream, "closed")

	f.add(t, stream, "seat:A2")
	heads, err = f.Heads(t.Context(), nil)
	require.NoError(t, err)
	assert.Contains(t, heads.Positions, stream, "an append opens it again")
	follower.Hint(stream, 3)
	require.Eventually(t, func() bool {
		read := r.read(stream)
		return len(read) > 0 && read[len(read)-1] == 3
	}, soon, 2*time.Millisecond)
}

func TestFollowerOfChosenStreams(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	wanted, unwanted := f.stream(t), f.stream(t)
	var mu sync.Mutex
	var chosen []uuid.UUID
	choose := func(streams ...uuid.UUID) {
		mu.Lock()
		defer mu.Unlock()
		chosen = streams
	}
	r := newReader()
	follow(t, f, eventstore.FollowerConfig{Poll: fastPoll, Streams: func() []uuid.UUID {
		mu.Lock()
		defer mu.Unlock()
		return chosen
	}}, &memory{}, r)
	choose(wanted, uuid.New())
	r.waitFor(t, wanted, 1)
	f.add(t, wanted, "seat:A1")
	r.waitFor(t, wanted, 1, 2)
	assert.Empty(t, r.read(unwanted))
	choose(unwanted)
	r.waitFor(t, unwanted, 1)
}

// Cursors that can't be read delay the start; cursors that can't be written cost nothing but repetition.
func TestCursorsThatFail(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	m := &memory{fail: errors.New("not now")}
	r := newReader()
	follow(t, f, eventstore.FollowerConfig{Poll: fastPoll, Save: time.Millisecond}, m, r)
	require.Never(t, func() bool { return len(r.read(stream)) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	m.set(func(m *memory) { m.fail = nil })
	r.waitFor(t, stream, 1)

	m.set(func(m *memory) { m.fail = errors.New("not now") })
	f.add(t, stream, "seat:A1")
	r.waitFor(t, stream, 1, 2)
	m.set(func(m *memory) { m.fail = nil })
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.positions[stream].Seq == 2
	}, soon, 2*time.Millisecond)
}

func TestFollowerConfigIsValidated(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	for _, cfg := range []eventstore.FollowerConfig{
		{Poll: -1}, {Batch: -1}, {Batch: 10_000}, {Workers: -1}, {RetryMin: 2, RetryMax: 1},
	} {
		require.Error(t, f.Follower(cfg, &memory{}, newReader()).Run(t.Context()), "%+v", cfg)
	}
}
