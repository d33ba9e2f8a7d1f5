package booking_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
)

// Someone whose hold ran out while the page was open clicks on: a fresh booking starts, and nothing is stuck.
func TestTheNextClickAfterAHoldRanOutStartsAFreshBooking(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{HoldFor: 100 * time.Millisecond})
	anna := newPerson()
	old := r.mustHold(anna, "A1", "A2")
	h.waitFor(old.ExpiresAt)

	_, err := r.addSeats(anna, old.ID, "A3")
	require.ErrorIs(t, err, booking.ErrHoldExpired)
	_, err = r.giveBack(anna, old.ID, "A1")
	require.ErrorIs(t, err, booking.ErrHoldExpired)
	_, err = r.confirm(anna, old.ID)
	require.ErrorIs(t, err, booking.ErrHoldExpired)
	fresh := r.mustHold(anna, "A3")

	require.NotEqual(t, old.ID, fresh.ID)
	require.Equal(t, []booking.Seat{"A3"}, fresh.Seats)
	require.Equal(t, []booking.Status{booking.Available, booking.Available, booking.Held}, h.statuses("A1", "A2", "A3"))
	shown, err := r.Booking(t.Context(), anna.session, old.ID)
	require.NoError(t, err)
	require.Equal(t, booking.StateExpired, shown.State)
	require.Empty(t, shown.Seats)
	h.sound(h.hall.show.ID)
}

func TestASessionMayTakeItsOwnLapsedSeatsAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{HoldFor: 100 * time.Millisecond})
	anna := newPerson()
	old := r.mustHold(anna, "A1", "A2")
	h.waitFor(old.ExpiresAt)

	fresh := r.mustHold(anna, "A2", "A3")

	require.Equal(t, []booking.Seat{"A2", "A3"}, fresh.Seats)
	require.Equal(t, []booking.Status{booking.Available, booking.Held, booking.Held}, h.statuses("A1", "A2", "A3"))
	h.sound(h.hall.show.ID)
}

// Ten seats, nine of them on holds that ran out: an order for two is served at once, and no sweep ran.
func TestLapsedHoldsDontStandInTheWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	brief := h.replica(booking.Config{HoldFor: 150 * time.Millisecond})
	first := brief.mustHold(newPerson(), numbered(1, 4)...)
	second := brief.mustHold(newPerson(), numbered(5, 9)...)
	h.waitFor(second.ExpiresAt)

	r := h.replica(booking.Config{})
	b := r.mustHold(newPerson(), "A4", "A5")

	require.Equal(t, []booking.Seat{"A4", "A5"}, b.Seats)
	state := h.state()
	require.Len(t, state.Bookings, 1, "both old bookings ended as a whole")
	require.Equal(t, []booking.Status{
		booking.Available, booking.Available, booking.Available, booking.Held, booking.Held,
		booking.Available, booking.Available, booking.Available, booking.Available,
	}, h.statuses(numbered(1, 9)...))
	for _, id := range []uuid.UUID{first.ID, second.ID} {
		_, event, err := h.store.Booking(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, booking.TypeBookingExpired, event.Type)
	}
	r.mustHold(newPerson(), "A1", "A9")
	h.sound(h.hall.show.ID)
}

func TestAHoldIsNotTakenOverBeforeItsEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	// Within the last second of a hold this process doesn't trust its idea of the time: the log refuses.
	brief := h.replica(booking.Config{HoldFor: 900 * time.Millisecond})
	b := brief.mustHold(newPerson(), "A1", "A2")

	_, err := h.replica(booking.Config{}).hold(newPerson(), "A2", "A3")

	refused(t, err, held("A2"))
	require.Equal(t, b.ID, h.state().Seats["A2"].Booking)
}

// The largest hold is abandoned: after its end everything is on sale again.
func TestAnAbandonedHoldGoesBackOnSale(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r, brief := h.replica(booking.Config{}), h.replica(booking.Config{HoldFor: 50 * time.Millisecond})
	b := r.mustHold(newPerson(), numbered(1, 10)...)
	require.NoError(t, r.Expire(t.Context(), h.hall.show.ID, b.ID), "not due yet: nothing happens")
	require.Len(t, h.state().Bookings, 1)
	require.NoError(t, r.release(person{session: b.Session}, b.ID))
	b = brief.mustHold(newPerson(), numbered(1, 10)...)
	h.waitFor(b.ExpiresAt)

	n, err := r.SweepExpired(t.Context(), []uuid.UUID{h.hall.show.ID})

	require.NoError(t, err)
	require.Equal(t, 1, n)
	state := h.state()
	require.Empty(t, state.Bookings)
	for _, seat := range numbered(1, 10) {
		require.Equal(t, booking.Available, state.Seats[seat].Status)
	}
	n, err = r.SweepExpired(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, r.Expire(t.Context(), h.hall.show.ID, b.ID), "it has ended already")
	require.ErrorIs(t, r.Expire(t.Context(), h.hall.show.ID, uuid.New()), booking.ErrNotFound)
	r.mustHold(newPerson(), numbered(1, 10)...)
}

// Expiry and confirm at the same instant, from different replicas: exactly one of them wins.
func TestExpiryAndConfirmAtTheSameInstantHaveOneWinner(t *testing.T) {
	t.Parallel()
	const rounds = 20
	h := newHouse(t, rounds)
	here, there := h.replica(booking.Config{HoldFor: 60 * time.Millisecond}), h.replica(booking.Config{})
	for i := range rounds {
		anna := newPerson()
		seat := numbered(i+1, i+1)[0]
		b := here.mustHold(anna, seat)
		h.waitFor(b.ExpiresAt.Add(-2 * time.Millisecond))

		var both sync.WaitGroup
		var confirmed, expired error
		both.Go(func() { _, confirmed = here.confirm(anna, b.ID) })
		both.Go(func() {
			for range 10 {
				expired = errors.Join(expired, there.Expire(t.Context(), h.hall.show.ID, b.ID))
			}
		})
		both.Wait()

		require.NoError(t, expired)
		if confirmed == nil {
			require.Equal(t, []booking.Status{booking.Sold}, h.statuses(seat))
		} else {
			require.ErrorIs(t, confirmed, booking.ErrHoldExpired)
			require.NotEqual(t, []booking.Status{booking.Sold}, h.statuses(seat))
		}
	}
	h.sound(h.hall.show.ID)
}
