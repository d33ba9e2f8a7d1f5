package booking_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

func TestAHoldIsOneAppendOfSeatsAndBooking(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	var hints []int64
	r := h.replica(booking.Config{Notify: func(showing uuid.UUID, seq int64) {
		require.Equal(t, h.hall.show.ID, showing)
		hints = append(hints, seq)
	}})
	anna := newPerson()

	b := r.mustHold(anna, "A3", "A2")

	require.Equal(t, booking.StateHeld, b.State)
	require.Equal(t, []booking.Seat{"A2", "A3"}, b.Seats, "seats are in the layout's order")
	require.Equal(t, booking.Money{Amount: 2000, Currency: "EUR"}, b.Total)
	require.Equal(t, int64(4), b.Seq, "the showing's first event, two seats, the booking")
	require.Equal(t, []int64{4}, hints)
	require.WithinDuration(t, b.Now.Add(10*time.Minute), b.ExpiresAt, time.Second)
	require.Equal(t, anna.session, b.Session)

	events, err := h.store.Read(t.Context(), h.hall.show.ID, 1, 100)
	require.NoError(t, err)
	require.Len(t, events, 3)
	require.Equal(t, []string{"seat:A3", "seat:A2", "booking:" + b.ID.String()},
		[]string{events[0].Entity, events[1].Entity, events[2].Entity})
	require.JSONEq(t, `{"booking":"`+b.ID.String()+`","seat":"A3","previous":"available","current":"held","why":"hold",
		"who":"`+anna.session.String()+`"}`, string(events[0].Data))
	require.JSONEq(t, `{"booking":"`+b.ID.String()+`","session":"`+anna.session.String()+`","state":"held",
		"seats":["A2","A3"],"total":{"amount":2000,"currency":"EUR"},"why":"hold","who":"`+anna.session.String()+`"}`,
		string(events[2].Data))
	for _, e := range events {
		require.True(t, e.Deadline.Equal(b.ExpiresAt))
	}
}

func TestAHoldTakesAllSeatsOrNone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	r.mustHold(newPerson(), "A3")

	_, err := r.hold(newPerson(), "A2", "A3", "A4")

	refused(t, err, held("A3"))
	require.Equal(t, []booking.Status{booking.Available, booking.Held, booking.Available}, h.statuses("A2", "A3", "A4"))
	r.mustHold(newPerson(), "A2", "A4")
	h.sound(h.hall.show.ID)
}

func TestWhatCanNeverBeHeldIsRefusedOutright(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 20)
	r := h.replica(booking.Config{})
	anna := newPerson()

	_, err := r.hold(anna)
	var invalid *booking.InvalidError
	require.ErrorAs(t, err, &invalid)
	_, err = r.hold(anna, "A1", "A1")
	require.ErrorAs(t, err, &invalid)
	_, err = r.Hold(t.Context(), booking.Command{Session: anna.session}, h.hall.show.ID, numbered(1, 1))
	require.ErrorAs(t, err, &invalid, "a command without a key")

	_, err = r.hold(anna, "A1", "Z9", "A21")
	var unknown *booking.UnknownSeatsError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []booking.Seat{"Z9", "A21"}, unknown.Seats)

	_, err = r.hold(anna, numbered(1, 11)...)
	var tooMany *booking.TooManySeatsError
	require.ErrorAs(t, err, &tooMany)
	require.Equal(t, 10, tooMany.Limit)

	_, err = r.Hold(t.Context(), anna.command("hold"), uuid.New(), numbered(1, 1))
	require.ErrorIs(t, err, booking.ErrNotFound)
}

func TestSalesWindowIsJudgedByTheLog(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A1")
	closed := func(err error) {
		t.Helper()
		var sales *booking.SalesClosedError
		require.ErrorAs(t, err, &sales)
		require.Equal(t, h.hall.show.OpensAt, sales.OpensAt)
		require.Equal(t, h.hall.show.ClosesAt, sales.ClosesAt)
	}

	h.hall.change(func(s *booking.Showing) { s.OpensAt = time.Now().Add(time.Hour) })
	_, err := r.hold(newPerson(), "A2")
	closed(err)
	h.hall.change(func(s *booking.Showing) {
		s.OpensAt, s.ClosesAt = s.OpensAt.Add(-3*time.Hour), time.Now().Add(-time.Second)
	})
	_, err = r.hold(newPerson(), "A2")
	closed(err)
	_, err = r.addSeats(anna, b.ID, "A2")
	closed(err)
	h.hall.change(func(s *booking.Showing) { s.ClosesAt, s.Cancelled = time.Now().Add(time.Hour), true })
	_, err = r.hold(newPerson(), "A2")
	closed(err)
	_, err = r.confirm(anna, b.ID)
	closed(err)

	h.hall.change(func(s *booking.Showing) { s.Cancelled, s.ClosesAt = false, time.Now().Add(-time.Second) })
	_, err = r.confirm(anna, b.ID)
	require.NoError(t, err, "what was held in time may be paid for after sales closed")
}

func TestAShowingWithoutAStreamIsNotOnSale(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	other := uuid.New()
	h.hall.add(other)
	r := h.replica(booking.Config{})

	_, err := r.Hold(t.Context(), newPerson().command("hold"), other, numbered(1, 1))

	var sales *booking.SalesClosedError
	require.ErrorAs(t, err, &sales)
}

func TestASessionHasOneHoldAShowing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A1")

	for _, seats := range [][]booking.Seat{{"A2"}, {"A1"}, {"A1", "A2"}} {
		_, err := r.hold(anna, seats...)
		var exists *booking.ExistsError
		require.ErrorAs(t, err, &exists)
		same(t, b, exists.Booking)
	}

	_, err := r.confirm(anna, b.ID)
	require.NoError(t, err)
	r.mustHold(anna, "A2")
}

// A hold at its limit: a failed or a repeated addition never lengthens it.
func TestAddingATakenSeatLeavesTheCountdownAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 20)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, numbered(1, 9)...)
	r.mustHold(newPerson(), "A12")

	_, err := r.addSeats(anna, b.ID, "A12")
	refused(t, err, held("A12"))
	added, err := r.addSeats(anna, b.ID, "A10")
	require.NoError(t, err)
	require.Equal(t, numbered(1, 10), added.Seats)
	require.Equal(t, int64(10*seatPrice), added.Total.Amount)
	again, err := r.addSeats(anna, b.ID, "A10")
	require.NoError(t, err, "a seat that it has already counts as added")
	require.Equal(t, numbered(1, 10), again.Seats)
	_, err = r.addSeats(anna, b.ID, "A11")
	var tooMany *booking.TooManySeatsError
	require.ErrorAs(t, err, &tooMany)

	now, err := r.Booking(t.Context(), anna.session, b.ID)
	require.NoError(t, err)
	for _, at := range []time.Time{added.ExpiresAt, again.ExpiresAt, now.ExpiresAt} {
		require.True(t, at.Equal(b.ExpiresAt), "the hold's end moved from %s to %s", b.ExpiresAt, at)
	}
	for seat, s := range h.state().Seats {
		require.True(t, seat == "A12" || s.Deadline.Equal(b.ExpiresAt), "seat %s ends with its booking", seat)
	}
	h.sound(h.hall.show.ID)
}

// Checkout never picks other seats: what was held is what is sold, event by event.
func TestHeldSeatsAreSoldExactlyAsHeld(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A7", "A3")
	b, err := r.addSeats(anna, b.ID, "A5")
	require.NoError(t, err)
	b, err = r.giveBack(anna, b.ID, "A3")
	require.NoError(t, err)
	require.Equal(t, []booking.Seat{"A5", "A7"}, b.Seats)
	require.Equal(t, int64(2000), b.Total.Amount)

	sold, err := h.replica(booking.Config{}).confirm(anna, b.ID)

	require.NoError(t, err)
	require.Equal(t, booking.StateConfirmed, sold.State)
	require.Equal(t, b.Seats, sold.Seats)
	require.Equal(t, b.Total, sold.Total)
	require.True(t, sold.ExpiresAt.IsZero())
	for seat, s := range h.state().Seats {
		require.Equal(t, slices.Contains(b.Seats, seat), s.Status == booking.Sold, "seat %s", seat)
	}
	_, err = r.confirm(anna, b.ID)
	var notHeld *booking.NotHeldError
	require.ErrorAs(t, err, &notHeld)
	require.Equal(t, booking.StateConfirmed, notHeld.State)
	_, err = r.hold(newPerson(), "A5")
	refused(t, err, booking.SeatProblem{Seat: "A5", Status: booking.Sold})
	h.sound(h.hall.show.ID)
}

// Cancelling frees the seats at once: also for a buyer at a replica that has not heard of it.
func TestReleasedSeatsAreFreeAtOnceEverywhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	here, there := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna := newPerson()
	b := here.mustHold(anna, "A1", "A2", "A3")
	there.freeze()
	_, err := here.giveBack(anna, b.ID, "A3")
	require.NoError(t, err)

	there.mustHold(newPerson(), "A3")
	require.NoError(t, here.release(anna, b.ID))
	there.mustHold(newPerson(), "A1", "A2")

	require.NoError(t, here.release(anna, b.ID), "a released booking may be released again")
	_, err = here.confirm(anna, b.ID)
	var notHeld *booking.NotHeldError
	require.ErrorAs(t, err, &notHeld)
	require.Equal(t, booking.StateReleased, notHeld.State)
	h.sound(h.hall.show.ID)
}

func TestGivingBackTheLastSeatReleases(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A1", "A2")

	_, err := r.giveBack(anna, b.ID, "A4")
	require.ErrorIs(t, err, booking.ErrNotFound, "it doesn't have that seat")
	_, err = r.giveBack(anna, b.ID, "A2")
	require.NoError(t, err)
	last, err := r.giveBack(anna, b.ID, "A1")
	require.NoError(t, err)

	require.Equal(t, booking.StateReleased, last.State)
	require.Empty(t, last.Seats)
	require.Equal(t, booking.Money{Currency: "EUR"}, last.Total)
	require.Empty(t, h.state().Bookings)
	r.mustHold(anna, "A1")
}

func TestOthersBookingsAreNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r, elsewhere := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna, boris := newPerson(), newPerson()
	b := r.mustHold(anna, "A1")

	for _, at := range []*replica{r, elsewhere} {
		_, err := at.Booking(t.Context(), boris.session, b.ID)
		require.ErrorIs(t, err, booking.ErrNotFound)
		_, err = at.addSeats(boris, b.ID, "A2")
		require.ErrorIs(t, err, booking.ErrNotFound)
		_, err = at.giveBack(boris, b.ID, "A1")
		require.ErrorIs(t, err, booking.ErrNotFound)
		_, err = at.confirm(boris, b.ID)
		require.ErrorIs(t, err, booking.ErrNotFound)
		require.ErrorIs(t, at.release(boris, b.ID), booking.ErrNotFound)
	}
	_, err := r.confirm(anna, uuid.New())
	require.ErrorIs(t, err, booking.ErrNotFound)

	mine, err := r.Bookings(t.Context(), anna.session)
	require.NoError(t, err)
	require.Len(t, mine, 1)
	same(t, b, mine[0])
	none, err := r.Bookings(t.Context(), boris.session)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestSeatsHeldByAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r := h.replica(booking.Config{MaxSeatsPerAddress: 3})
	from := func(p person, address string, seats ...booking.Seat) (booking.Booking, error) {
		cmd := p.command("hold", seats...)
		cmd.Address = address
		return r.Hold(t.Context(), cmd, h.hall.show.ID, seats)
	}
	anna := newPerson()
	b, err := from(anna, "here", "A1", "A2")
	require.NoError(t, err)

	_, err = from(newPerson(), "here", "A3", "A4")
	require.ErrorIs(t, err, booking.ErrAddressLimit)
	_, err = from(newPerson(), "there", "A3", "A4")
	require.NoError(t, err)
	_, err = r.confirm(anna, b.ID)
	require.NoError(t, err)
	_, err = from(newPerson(), "here", "A5", "A6")
	require.NoError(t, err, "what is sold is not held")
}

func TestNoAddressIsKeptWithoutALimit(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	cmd := newPerson().command("hold", "A1")
	cmd.Address = "somewhere"

	b, err := r.Hold(t.Context(), cmd, h.hall.show.ID, numbered(1, 1))

	require.NoError(t, err)
	row, _, err := h.store.Booking(t.Context(), b.ID)
	require.NoError(t, err)
	require.Empty(t, row.Address)
	require.Equal(t, eventstore.Booking{
		ID: b.ID, Stream: h.hall.show.ID, Session: b.Session, Held: true, State: "held", Seats: 1, Deadline: row.Deadline, Seq: 3,
	}, row)
}
