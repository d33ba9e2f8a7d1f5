package eventstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/eventstore"
)

// ended is the request that ends a booking whose latest event is at prev.
func ended(stream, session, booking uuid.UUID, prev int64) eventstore.Request {
	own := event("booking:"+booking.String(), prev)
	return eventstore.Request{
		Stream: stream,
		Events: []eventstore.NewEvent{own},
		Bookings: []eventstore.BookingChange{
			{ID: booking, Session: session, Entity: own.Entity, State: "released"},
		},
	}
}

func TestBookingIndexFollowsTheEvents(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, session, id := f.stream(t), uuid.New(), uuid.New()
	req := hold(stream, session, id, "seat:A1", "seat:A2")
	req.Bookings[0].Address = "here"
	res, err := f.Append(t.Context(), req)
	require.NoError(t, err)

	booking, latest, err := f.Booking(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, eventstore.Booking{
		ID: id, Stream: stream, Session: session, Held: true, State: "held", Seats: 2, Address: "here",
		Deadline: res.Now.Add(10 * time.Minute), Seq: 4,
	}, booking)
	assert.Equal(t, res.Events[2], latest)

	res, err = f.Append(t.Context(), ended(stream, session, id, 4))
	require.NoError(t, err)
	booking, latest, err = f.Booking(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, eventstore.Booking{ID: id, Stream: stream, Session: session, State: "released", Seq: 5}, booking)
	assert.Equal(t, res.Events[0], latest)

	_, _, err = f.Booking(t.Context(), uuid.New())
	require.ErrorIs(t, err, eventstore.ErrNotFound)
}

func TestSessionHasOneHoldAStream(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, elsewhere, session := f.stream(t), f.stream(t), uuid.New()
	first := hold(stream, session, uuid.New(), "seat:A1")
	first.Events[1].Deadline.In = time.Microsecond // past at once, and in the way all the same
	res, err := f.Append(t.Context(), first)
	require.NoError(t, err)

	second := hold(stream, session, uuid.New(), "seat:A2")
	_, err = f.Append(t.Context(), second)
	var held *eventstore.HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, first.Bookings[0].ID, held.Booking.ID)
	assert.Equal(t, res.Events[1].Deadline, held.Booking.Deadline)
	assert.Equal(t, res.Events[1], held.Event)
	assert.False(t, held.Now.Before(res.Now))

	_, err = f.Append(t.Context(), hold(elsewhere, session, uuid.New(), "seat:A2"))
	require.NoError(t, err, "another stream")
	_, err = f.Append(t.Context(), hold(stream, uuid.New(), uuid.New(), "seat:A3"))
	require.NoError(t, err, "another session")

	// A request that ends the old hold may bring the new one.
	end := ended(stream, session, first.Bookings[0].ID, 3)
	second.Events = append(end.Events, second.Events...)
	second.Bookings = append(second.Bookings, end.Bookings...)
	_, err = f.Append(t.Context(), second)
	require.NoError(t, err)
	booking, _, err := f.Booking(t.Context(), second.Bookings[0].ID)
	require.NoError(t, err)
	assert.True(t, booking.Held)
}

// Two tabs of one session click at the same moment: one hold, and the other tab hears of it.
func TestTwoHoldsOfOneSessionInABatch(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, session := f.stream(t), uuid.New()
	first := hold(stream, session, uuid.New(), "seat:A1")

	answers, _ := f.AppendBatch(t.Context(), first, hold(stream, session, uuid.New(), "seat:A2"))

	require.NoError(t, answers[0].Err)
	var held *eventstore.HeldError
	require.ErrorAs(t, answers[1].Err, &held)
	assert.Equal(t, first.Bookings[0].ID, held.Booking.ID)
	assert.Equal(t, answers[0].Result.Events[1], held.Event)
}

// A batch in which a new hold arrives just before the release of the session's old one: the new hold
// is judged once more instead of being told of a hold that is no more.
func TestHoldThatEndsInTheSameBatch(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, session, old := f.stream(t), uuid.New(), uuid.New()
	_, err := f.Append(t.Context(), hold(stream, session, old, "seat:A1"))
	require.NoError(t, err)
	tx, err := f.connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", stream)
	require.NoError(t, err)

	// One flush waits for the stream; behind it the two gather into one batch.
	group, ctx := errgroup.WithContext(t.Context())
	send := func(req eventstore.Request, queued int) {
		group.Go(func() error {
			_, err := f.Append(ctx, req)
			return err
		})
		require.Eventually(t, func() bool { return f.Queued() == queued }, 5*time.Second, time.Millisecond)
	}
	send(eventstore.Request{Stream: stream, Events: events("seat:Z9")}, 0)
	waitForLock(t, f)
	send(hold(stream, session, uuid.New(), "seat:A2"), 1)
	send(ended(stream, session, old, 3), 2)
	require.NoError(t, tx.Rollback(t.Context()))

	require.NoError(t, group.Wait())
}

// waitForLock returns when a server process of the schema's database waits for a lock.
func waitForLock(t *testing.T, f fixture) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting bool
		f.scan(t, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.query LIKE '%append_batch%')`, nil, &waiting)
		return waiting
	}, 5*time.Second, 5*time.Millisecond)
}

func TestAddressHoldsAtMostSoManySeats(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, elsewhere := f.stream(t), f.stream(t)
	from := func(stream uuid.UUID, address string, limit int, seats ...string) eventstore.Request {
		req := hold(stream, uuid.New(), uuid.New(), seats...)
		req.Bookings[0].Address, req.MaxHeldSeats = address, limit
		return req
	}
	first := from(stream, "here", 3, "seat:A1", "seat:A2")
	_, err := f.Append(t.Context(), first)
	require.NoError(t, err)

	_, err = f.Append(t.Context(), from(elsewhere, "here", 3, "seat:A1", "seat:A2"))
	require.ErrorIs(t, err, eventstore.ErrAddressLimit, "counted over all streams")
	_, err = f.Append(t.Context(), from(elsewhere, "there", 3, "seat:A1", "seat:A2"))
	require.NoError(t, err, "another address")
	_, err = f.Append(t.Context(), from(elsewhere, "", 1, "seat:B1", "seat:B2"))
	require.NoError(t, err, "no address")
	_, err = f.Append(t.Context(), from(elsewhere, "here", 0, "seat:C1", "seat:C2"))
	require.NoError(t, err, "no limit")

	// A booking's own change replaces what it had: 4 held, of which 2 become 1.
	smaller := from(stream, "here", 3, "seat:A2")
	smaller.Bookings[0].ID, smaller.Bookings[0].Session = first.Bookings[0].ID, first.Bookings[0].Session
	smaller.Events[0].Prev, smaller.Events[1].Entity, smaller.Events[1].Prev = 3, first.Events[2].Entity, 4
	smaller.Bookings[0].Entity = first.Events[2].Entity
	_, err = f.Append(t.Context(), smaller)
	require.NoError(t, err)
}

func TestHoldsPastTheirDeadlineDontCountForTheAddress(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	for _, seat := range []string{"seat:A1", "seat:A2", "seat:A3"} {
		req := hold(stream, uuid.New(), uuid.New(), seat)
		req.Bookings[0].Address, req.MaxHeldSeats = "here", 1
		req.Events[1].Deadline.In = time.Microsecond
		_, err := f.Append(t.Context(), req)
		require.NoError(t, err, seat)
	}
}

// One address takes seats of many streams over two replicas at once: the limit holds all the same.
func TestAddressLimitHoldsAcrossReplicas(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	g := openStore(t, f.url, f.url, eventstore.Config{})
	var group errgroup.Group
	passed := make(chan struct{}, 40)
	for i := range 40 {
		store := f.Store
		if i%2 == 1 {
			store = g.Store
		}
		stream := f.stream(t)
		group.Go(func() error {
			req := hold(stream, uuid.New(), uuid.New(), "seat:A1", "seat:A2")
			req.Bookings[0].Address, req.MaxHeldSeats = "here", 11
			_, err := store.Append(t.Context(), req)
			if err == nil {
				passed <- struct{}{}
			} else if !assert.ErrorIs(t, err, eventstore.ErrAddressLimit) {
				return err
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	assert.Len(t, passed, 5)
}

func TestBookingOfAnotherStreamIsNotTouched(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, elsewhere, id := f.stream(t), f.stream(t), uuid.New()
	_, err := f.Append(t.Context(), hold(stream, uuid.New(), id, "seat:A1"))
	require.NoError(t, err)
	before, _, err := f.Booking(t.Context(), id)
	require.NoError(t, err)

	answers, _ := f.AppendBatch(t.Context(),
		hold(elsewhere, uuid.New(), id, "seat:A1"), eventstore.Request{Stream: elsewhere, Events: events("seat:A2")})

	require.ErrorIs(t, answers[0].Err, eventstore.ErrInvalid)
	require.NoError(t, answers[1].Err, "the other request of the batch is none the worse")
	after, _, err := f.Booking(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestBookingsOfASession(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	session, first, second := uuid.New(), uuid.New(), uuid.New()
	for _, id := range []uuid.UUID{first, second} {
		_, err := f.Append(t.Context(), hold(f.stream(t), session, id, "seat:A1"))
		require.NoError(t, err)
	}

	bookings, latest, err := f.BookingsOf(t.Context(), session, 10)
	require.NoError(t, err)
	require.Len(t, bookings, 2)
	assert.Equal(t, []uuid.UUID{second, first}, []uuid.UUID{bookings[0].ID, bookings[1].ID})
	assert.Equal(t, "booking:"+first.String(), latest[1].Entity)
	bookings, _, err = f.BookingsOf(t.Context(), session, 1)
	require.NoError(t, err)
	assert.Len(t, bookings, 1)
	_, _, err = f.BookingsOf(t.Context(), session, 0)
	require.ErrorIs(t, err, eventstore.ErrInvalid)
}

func TestExpiredHolds(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream, closed := f.stream(t), f.stream(t)
	due := func(stream uuid.UUID, seat string, in time.Duration) uuid.UUID {
		req := hold(stream, uuid.New(), uuid.New(), seat)
		req.Events[1].Deadline.In = in
		_, err := f.Append(t.Context(), req)
		require.NoError(t, err)
		return req.Bookings[0].ID
	}
	later := due(stream, "seat:A1", 2*time.Millisecond)
	first := due(stream, "seat:A2", time.Microsecond)
	due(stream, "seat:A3", time.Hour)
	due(closed, "seat:A1", time.Microsecond)
	require.NoError(t, f.CloseStream(t.Context(), closed))
	f.exec(t, "SELECT pg_sleep(0.01)")

	expired, err := f.Expired(t.Context(), nil, 10)
	require.NoError(t, err)
	require.Len(t, expired, 2)
	assert.ElementsMatch(t, []uuid.UUID{first, later}, []uuid.UUID{expired[0].ID, expired[1].ID})
	assert.False(t, expired[1].Deadline.Before(expired[0].Deadline), "the longest overdue first")
	expired, err = f.Expired(t.Context(), []uuid.UUID{closed}, 10)
	require.NoError(t, err)
	assert.Len(t, expired, 1)
	expired, err = f.Expired(t.Context(), []uuid.UUID{}, 10)
	require.NoError(t, err)
	assert.Empty(t, expired)
}
