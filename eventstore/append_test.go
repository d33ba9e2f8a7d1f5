package eventstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/eventstore"
)

func TestAppendReturnsWhatReadReturns(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)

	until := time.Date(2031, 5, 1, 12, 0, 0, 123_456_789, time.FixedZone("", 3600))
	seat, other := event("seat:A1", 0), event("seat:A2", 0)
	seat.Deadline.In = 10 * time.Minute
	other.Deadline.At = until
	res, err := f.Append(t.Context(), eventstore.Request{
		Stream: stream, Events: []eventstore.NewEvent{seat, other, event("booking:1", 0)},
	})
	require.NoError(t, err)

	assert.Equal(t, []int64{2, 3, 4}, seqs(res.Events))
	assert.Equal(t, int64(4), res.Seq)
	assert.Nil(t, res.Replayed)
	assert.Equal(t, res.Now.Add(10*time.Minute), res.Events[0].Deadline)
	assert.Equal(t, time.Date(2031, 5, 1, 11, 0, 0, 123_456_000, time.UTC), res.Events[1].Deadline)
	assert.True(t, res.Events[2].Deadline.IsZero())

	read, err := f.Read(t.Context(), stream, 1, 10)
	require.NoError(t, err)
	assert.Equal(t, res.Events, read)
}

// Two people want overlapping seats in one batch: each is judged after those that arrived before it.
func TestBatchIsJudgedInArrivalOrder(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)

	answers, stats := f.AppendBatch(t.Context(),
		eventstore.Request{Stream: stream, Events: events("seat:A1", "seat:A2")},
		eventstore.Request{Stream: stream, Events: events("seat:A2", "seat:A3")},
		eventstore.Request{Stream: stream, Events: events("seat:A3")},
	)

	require.NoError(t, answers[0].Err)
	assert.Equal(t, []int64{2, 3}, seqs(answers[0].Result.Events))
	var guard *eventstore.GuardError
	require.ErrorAs(t, answers[1].Err, &guard)
	assert.Equal(t, []int64{3, 4}, seqs(guard.Present), "A2 by the first, A3 by the third")
	assert.Equal(t, int64(4), guard.Seq)
	require.NoError(t, answers[2].Err)
	assert.Equal(t, []int64{4}, seqs(answers[2].Result.Events))
	assert.Equal(t, 3, stats.Rounds)
	assert.Equal(t, 3, stats.Events)
}

func TestGuardErrorCarriesThePresent(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	first, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A1", "seat:A2")})
	require.NoError(t, err)

	// A1 has changed; A2 is named rightly; A3 never had the event that is named.
	_, err = f.Append(t.Context(), eventstore.Request{Stream: stream, Events: []eventstore.NewEvent{
		event("seat:A1", 0), event("seat:A2", 3), event("seat:A3", 1),
	}})

	var guard *eventstore.GuardError
	require.ErrorAs(t, err, &guard)
	assert.Equal(t, first.Events[:1], guard.Present)
	assert.Equal(t, int64(3), guard.Seq)
	assert.False(t, guard.Now.Before(first.Now))
}

func TestChainOfAnEntityGoesOn(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	for prev, want := range []int64{2, 3, 4} {
		if prev > 0 {
			prev++
		}
		res, err := f.Append(t.Context(), eventstore.Request{
			Stream: stream, Events: []eventstore.NewEvent{event("seat:A1", int64(prev))},
		})
		require.NoError(t, err)
		assert.Equal(t, want, res.Seq)
	}
}

func TestReplayFindsTheFirstOutcome(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1", "seat:A2")}
	first, err := f.Append(t.Context(), req)
	require.NoError(t, err)

	// Every check and the guard would refuse it now, and the stream is gone: the replay wins.
	again := req
	again.Checks = []eventstore.Check{{Before: first.Now.Add(-time.Hour)}}
	for _, stream := range []uuid.UUID{stream, uuid.New()} {
		again.Stream = stream
		res, err := f.Append(t.Context(), again)
		require.NoError(t, err)
		assert.Empty(t, res.Events)
		assert.Equal(t, int64(3), res.Seq)
		assert.Equal(t, &eventstore.Recorded{Command: req.Command, Stream: req.Stream, Seq: 3, At: first.Now}, res.Replayed)
	}

	recorded, err := f.Recorded(t.Context(), req.Command.Session, "k1")
	require.NoError(t, err)
	assert.Equal(t, eventstore.Recorded{Command: req.Command, Stream: stream, Seq: 3, At: first.Now}, recorded)
	_, err = f.Recorded(t.Context(), uuid.New(), "k1")
	require.ErrorIs(t, err, eventstore.ErrNotFound)
}

func TestKeyOfAnotherCommandIsAMismatch(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	c := command("k1")
	_, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Command: c, Events: events("seat:A1")})
	require.NoError(t, err)

	otherBody, otherRoute := c, c
	otherBody.Body = [32]byte{2}
	otherRoute.Route = "POST /elsewhere"
	for _, c := range []eventstore.Command{otherBody, otherRoute} {
		_, err = f.Append(t.Context(), eventstore.Request{Stream: stream, Command: c, Events: events("seat:A2")})
		require.ErrorIs(t, err, eventstore.ErrMismatch)
	}

	otherSession := c
	otherSession.Session = uuid.New()
	_, err = f.Append(t.Context(), eventstore.Request{Stream: stream, Command: otherSession, Events: events("seat:A2")})
	require.NoError(t, err, "keys are the session's own")
}

func TestSameCommandTwiceInABatch(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: events("seat:A1")}
	other := req
	other.Command.Body = [32]byte{9}

	answers, _ := f.AppendBatch(t.Context(), req, req, other)

	require.NoError(t, answers[0].Err)
	require.NoError(t, answers[1].Err)
	require.NotNil(t, answers[1].Result.Replayed)
	assert.Equal(t, answers[0].Result.Seq, answers[1].Result.Replayed.Seq)
	require.ErrorIs(t, answers[2].Err, eventstore.ErrMismatch)
}

func TestRefusedCommandIsJudgedAnew(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	req := eventstore.Request{Stream: stream, Command: command("k1"), Events: []eventstore.NewEvent{event("seat:A1", 7)}}
	_, err := f.Append(t.Context(), req)
	require.ErrorAs(t, err, new(*eventstore.GuardError))

	req.Events[0].Prev = 0
	res, err := f.Append(t.Context(), req)
	require.NoError(t, err)
	assert.Nil(t, res.Replayed)
	assert.Len(t, res.Events, 1)
}

// The second of a batch wants what the first was refused: the first must not stand in its way.
func TestRefusedRequestLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	_, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A1")})
	require.NoError(t, err)
	refused := hold(stream, uuid.New(), uuid.New(), "seat:A1", "seat:A2")
	refused.Command = command("k1")
	next := hold(stream, refused.Bookings[0].Session, uuid.New(), "seat:A2")
	next.Command = refused.Command

	answers, _ := f.AppendBatch(t.Context(), refused, next)

	require.ErrorAs(t, answers[0].Err, new(*eventstore.GuardError))
	require.NoError(t, answers[1].Err)
	assert.Equal(t, []int64{3, 4}, seqs(answers[1].Result.Events))
}

func TestChecksAreJudgedByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	heads, err := f.Heads(t.Context(), nil)
	require.NoError(t, err)
	past, future := heads.Now.Add(-time.Microsecond), heads.Now.Add(time.Hour)

	refused := map[string]struct {
		checks []eventstore.Check
		failed int
	}{
		"before, passed":     {[]eventstore.Check{{Before: past}}, 0},
		"from, not reached":  {[]eventstore.Check{{From: future}}, 0},
		"the second of them": {[]eventstore.Check{{From: past, Before: future}, {Before: past}}, 1},
		"both, the first":    {[]eventstore.Check{{From: future}, {Before: past}}, 0},
	}
	for name, want := range refused {
		_, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Checks: want.checks, Events: events("seat:A1")})
		var check *eventstore.CheckError
		require.ErrorAs(t, err, &check, name)
		assert.Equal(t, want.failed, check.Check, name)
		assert.False(t, check.Now.Before(heads.Now), name)
	}
	_, err = f.Append(t.Context(), eventstore.Request{
		Stream: stream, Checks: []eventstore.Check{{From: past, Before: future}, {}}, Events: events("seat:A1"),
	})
	require.NoError(t, err)
}

func TestCheckEndsExclusively(t *testing.T) {
	t.Parallel()
	end := time.Date(2030, 1, 1, 20, 0, 0, 0, time.UTC)
	check := []eventstore.Check{{Before: end}, {From: end}}
	assert.Equal(t, 0, eventstore.FailedCheck(check, end), "the end itself is past")
	assert.Equal(t, -1, eventstore.FailedCheck(check[1:], end), "the beginning itself has come")
	assert.Equal(t, 1, eventstore.FailedCheck(check, end.Add(-time.Microsecond)))
}

// A hold ends while its confirmation waits for the stream: by the clock read after the lock, it is too late.
func TestClockIsReadAfterTheLock(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	other := f.connect(t)
	tx, err := other.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", stream)
	require.NoError(t, err)
	heads, err := f.Heads(t.Context(), nil)
	require.NoError(t, err)

	answered := make(chan error, 1)
	go func() {
		_, err := f.Append(t.Context(), eventstore.Request{
			Stream: stream, Events: events("seat:A1"),
			Checks: []eventstore.Check{{Before: heads.Now.Add(200 * time.Millisecond)}},
		})
		answered <- err
	}()
	_, err = tx.Exec(t.Context(), "SELECT pg_sleep(0.3)")
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))

	require.ErrorAs(t, <-answered, new(*eventstore.CheckError))
}

// Whatever could refuse a request, the answer is the first in the published order.
func TestOrderOfJudging(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	session := uuid.New()
	_, err := f.Append(t.Context(), hold(stream, session, uuid.New(), "seat:A1"))
	require.NoError(t, err)

	req := hold(stream, session, uuid.New(), "seat:A1")
	req.Bookings[0].Address, req.MaxHeldSeats = "here", 1
	req.Bookings[0].Seats = 2
	req.Checks = []eventstore.Check{{Before: time.Unix(0, 0)}}
	_, err = f.Append(t.Context(), req)
	require.ErrorAs(t, err, new(*eventstore.CheckError))

	req.Checks = nil
	_, err = f.Append(t.Context(), req)
	require.ErrorAs(t, err, new(*eventstore.GuardError))

	req.Events[0].Prev = 2
	_, err = f.Append(t.Context(), req)
	require.ErrorAs(t, err, new(*eventstore.HeldError))

	req.Bookings[0].Session = uuid.New()
	_, err = f.Append(t.Context(), req)
	require.ErrorIs(t, err, eventstore.ErrAddressLimit)
}

func TestNoStream(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	req := eventstore.Request{Stream: uuid.New(), Command: command("k1"), Events: events("seat:A1")}
	_, err := f.Append(t.Context(), req)
	require.ErrorIs(t, err, eventstore.ErrNoStream)
	_, err = f.Read(t.Context(), req.Stream, 0, 1)
	require.ErrorIs(t, err, eventstore.ErrNoStream)
	require.ErrorIs(t, f.CloseStream(t.Context(), req.Stream), eventstore.ErrNoStream)
	_, err = f.Recorded(t.Context(), req.Command.Session, "k1")
	require.ErrorIs(t, err, eventstore.ErrNotFound)
}
