package booking_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
)

// The answer to an append is lost: the same command, sent again anywhere, finds the first outcome.
func TestALostAnswerIsFoundAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	here, there := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna := newPerson()
	cmd := anna.command("hold", "A1", "A2")
	here.log.lose = true

	_, err := here.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 2))
	require.ErrorIs(t, err, booking.ErrOutcomeUnknown)
	there.freeze()
	again, err := there.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 2))
	require.NoError(t, err)
	once, err := here.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 2))
	require.NoError(t, err)

	same(t, once, again)
	require.Equal(t, 1, h.count(booking.TypeBookingHeld))
	require.Equal(t, []booking.Seat{"A1", "A2"}, h.state().Bookings[once.ID].Seats)
}

// A repeated command finds the booking as of its first outcome, whatever happened since: the booking was
// changed, it ended, and others have its seats.
func TestAFirstOutcomeWinsOverEveryRefusal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r, other := h.replica(booking.Config{}), h.replica(booking.Config{})
	ctx := t.Context()
	anna := newPerson()
	show := h.hall.show.ID

	type step struct {
		name string
		run  func(at *replica) (booking.Booking, error)
		was  booking.Booking
	}
	var steps []*step
	do := func(name string, run func(at *replica) (booking.Booking, error)) booking.Booking {
		t.Helper()
		was, err := run(r)
		require.NoError(t, err, name)
		steps = append(steps, &step{name: name, run: run, was: was})
		return was
	}
	holdCmd, addCmd := anna.command("hold"), anna.command("add")
	backCmd, endCmd := anna.command("give-back"), anna.command("end")
	b := do("hold", func(at *replica) (booking.Booking, error) {
		return at.Hold(ctx, holdCmd, show, []booking.Seat{"A1", "A2"})
	})
	do("add", func(at *replica) (booking.Booking, error) {
		return at.AddSeats(ctx, addCmd, b.ID, []booking.Seat{"A3"})
	})
	do("give back", func(at *replica) (booking.Booking, error) { return at.GiveBack(ctx, backCmd, b.ID, "A3") })
	repeatAll := func() {
		t.Helper()
		before := h.state().Seq
		for _, at := range []*replica{r, other} {
			for _, s := range steps {
				got, err := s.run(at)
				require.NoError(t, err, s.name)
				same(t, s.was, got)
			}
		}
		require.Equal(t, before, h.state().Seq, "a repeated command appends nothing")
	}
	repeatAll()
	rival := newPerson()
	r.mustHold(rival, "A3")
	repeatAll()
	do("release", func(at *replica) (booking.Booking, error) { return at.Release(ctx, endCmd, b.ID) })
	other.mustHold(newPerson(), "A1", "A2")
	repeatAll()

	h.hall.change(func(s *booking.Showing) { s.ClosesAt = time.Now().Add(-time.Second) })
	repeatAll()
	h.hall.change(func(s *booking.Showing) { s.Cancelled = true })
	repeatAll()
	strict := h.replica(booking.Config{MaxSeats: 1})
	got, err := steps[0].run(strict)
	require.NoError(t, err, "the limit was higher then")
	same(t, b, got)
	h.sound(show)
}

func TestARepeatedConfirmFindsTheSale(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r, other := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A1")
	cmd := anna.command("confirm")
	sold, err := r.Confirm(t.Context(), cmd, b.ID)
	require.NoError(t, err)

	for _, at := range []*replica{r, other} {
		again, err := at.Confirm(t.Context(), cmd, b.ID)
		require.NoError(t, err)
		same(t, sold, again)
	}
}

func TestAKeyIsForOneRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r, other := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna := newPerson()
	cmd := anna.command("hold", "A1")
	b, err := r.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 1))
	require.NoError(t, err)

	for _, at := range []*replica{r, other} {
		body := cmd
		body.Body[0]++
		_, err = at.Hold(t.Context(), body, h.hall.show.ID, numbered(2, 2))
		require.ErrorIs(t, err, booking.ErrKeyMismatch)
		route := cmd
		route.Route = "confirm"
		_, err = at.Confirm(t.Context(), route, b.ID)
		require.ErrorIs(t, err, booking.ErrKeyMismatch)
	}
	_, err = r.confirm(anna, b.ID)
	require.NoError(t, err)
	route := cmd
	route.Route = "release"
	_, err = r.Release(t.Context(), route, b.ID)
	require.ErrorIs(t, err, booking.ErrKeyMismatch, "also when the state would refuse it anyway")

	boris := newPerson()
	_, err = r.Hold(t.Context(), booking.Command{Session: boris.session, Key: cmd.Key, Route: "hold"},
		h.hall.show.ID, numbered(2, 2))
	require.NoError(t, err, "another session's key is another key")
}

func TestWhatWasRefusedIsJudgedAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	anna, boris := newPerson(), newPerson()
	b := r.mustHold(anna, "A1")
	cmd := boris.command("hold", "A1")
	_, err := r.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 1))
	refused(t, err, held("A1"))
	require.NoError(t, r.release(anna, b.ID))

	_, err = r.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 1))

	require.NoError(t, err)
}

// The same request again while the first is under way: it waits and shares the outcome, or is told so.
func TestTheSameRequestWhileTheFirstIsUnderWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	hasty := h.replica(booking.Config{InFlightWait: 20 * time.Millisecond})
	anna := newPerson()
	cmd := anna.command("hold", "A1")
	type result struct {
		booking.Booking
		error
	}
	call := func(at *replica, cmd booking.Command, seats ...booking.Seat) <-chan result {
		done := make(chan result, 1)
		go func() {
			b, err := at.Hold(t.Context(), cmd, h.hall.show.ID, seats)
			done <- result{b, err}
		}()
		return done
	}
	for _, at := range []*replica{r, hasty} {
		at.log.gate, at.log.entered = make(chan struct{}), make(chan struct{}, 1)
	}

	first := call(r, cmd, "A1")
	<-r.log.entered
	second := call(r, cmd, "A1")
	other := cmd
	other.Body[0]++
	require.ErrorIs(t, (<-call(r, other, "A1")).error, booking.ErrKeyMismatch)
	close(r.log.gate)
	one, two := <-first, <-second
	require.NoError(t, one.error)
	require.NoError(t, two.error)
	same(t, one.Booking, two.Booking)
	require.Equal(t, 1, h.count(booking.TypeBookingHeld))

	late := newPerson().command("hold", "A2")
	slow := call(hasty, late, "A2")
	<-hasty.log.entered
	require.ErrorIs(t, (<-call(hasty, late, "A2")).error, booking.ErrRequestInFlight)
	close(hasty.log.gate)
	require.NoError(t, (<-slow).error)
}

// The first caller goes away before its request is decided: who waits for it goes on by itself.
func TestWhoWaitsGoesOnWhenTheFirstCallerLeaves(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	cmd := newPerson().command("hold", "A1")
	r.log.gate, r.log.entered = make(chan struct{}), make(chan struct{}, 2)
	ctx, leave := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.Hold(ctx, cmd, h.hall.show.ID, numbered(1, 1))
		first <- err
	}()
	<-r.log.entered
	go func() {
		_, err := r.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 1))
		second <- err
	}()
	leave()
	close(r.log.gate)

	require.ErrorIs(t, <-first, context.Canceled)
	require.NoError(t, <-second)
	require.Equal(t, 1, h.count(booking.TypeBookingHeld))
}
