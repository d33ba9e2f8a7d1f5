package booking_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// rush has many people call at once, on the replicas in turn, and returns what became of each.
func rush(people int, replicas []*replica, call func(i int, r *replica) error) []error {
	outcomes := make([]error, people)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			<-start
			outcomes[i] = call(i, replicas[i%len(replicas)])
		})
	}
	close(start)
	all.Wait()
	return outcomes
}

// A hundred people want one seat at the same moment, on two replicas: one gets it, in the log as well.
func TestOneSeatAndAHundredPeople(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	replicas := []*replica{h.replica(booking.Config{}), h.replica(booking.Config{})}

	outcomes := rush(100, replicas, func(_ int, r *replica) error {
		_, err := r.hold(newPerson(), "A1")
		return err
	})

	winners := 0
	for _, err := range outcomes {
		if err == nil {
			winners++
			continue
		}
		refused(t, err, held("A1"))
	}
	require.Equal(t, 1, winners)
	require.Equal(t, 1, h.count(booking.TypeBookingHeld))
	require.Equal(t, 1, h.count(booking.TypeSeatStatusChanged))
	for _, r := range replicas {
		require.NotContains(t, r.log.take(), "latest", "a refused guard says all that a loser need know")
	}
	h.sound(h.hall.show.ID)
}

// count is how many events of a type the log has.
func (h *house) count(kind string) int {
	h.t.Helper()
	var n int
	err := h.pool.QueryRow(h.t.Context(), "SELECT count(*) FROM events WHERE type = $1", kind).Scan(&n)
	require.NoError(h.t, err)
	return n
}

// {A1,A2} and {A2,A1}, five hundred times in parallel: nobody meets a deadlock, and nobody gets a half.
func TestOppositeOrdersNeverBlockEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	replicas := []*replica{h.replica(booking.Config{}), h.replica(booking.Config{})}

	outcomes := rush(500, replicas, func(i int, r *replica) error {
		seats := []booking.Seat{"A1", "A2"}
		if i%4 > 1 {
			slices.Reverse(seats)
		}
		p := newPerson()
		b, err := r.hold(p, seats...)
		if err != nil {
			return err
		}
		return r.release(p, b.ID)
	})

	winners := 0
	for _, err := range outcomes {
		var unavailable *booking.SeatsUnavailableError
		if err == nil {
			winners++
		} else {
			require.ErrorAs(t, err, &unavailable)
		}
	}
	require.Positive(t, winners)
	require.Equal(t, winners, h.count(booking.TypeBookingReleased))
	require.Equal(t, []booking.Status{booking.Available, booking.Available}, h.statuses("A1", "A2"))
	h.sound(h.hall.show.ID)
}

// Two tabs of one session work on one booking: each command wins as a whole or is told what is.
func TestTwoTabsOfOneSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 20)
	replicas := []*replica{h.replica(booking.Config{MaxSeats: 20}), h.replica(booking.Config{MaxSeats: 20})}
	anna := newPerson()
	b := replicas[0].mustHold(anna, "A1")

	outcomes := rush(10, replicas, func(i int, r *replica) error {
		_, err := r.addSeats(anna, b.ID, numbered(i+2, i+2)[0])
		return err
	})

	added := 1
	for _, err := range outcomes {
		if err == nil {
			added++
		} else {
			require.ErrorIs(t, err, booking.ErrUnavailable, "it kept changing, and nothing was done")
		}
	}
	require.Greater(t, added, 1)
	require.Len(t, h.state().Bookings[b.ID].Seats, added)

	ended := rush(10, replicas, func(i int, r *replica) error {
		if i%4 > 1 {
			return r.release(anna, b.ID)
		}
		_, err := r.confirm(anna, b.ID)
		return err
	})
	var notHeld *booking.NotHeldError
	sold := slices.ContainsFunc(ended, func(err error) bool {
		return errors.As(err, &notHeld) && notHeld.State == booking.StateConfirmed
	})
	require.Equal(t, sold, h.state().Bookings[b.ID].State == booking.StateConfirmed)
	h.sound(h.hall.show.ID)
}

// A replica whose map lags refuses nobody a seat that is free, and gives nobody one that isn't.
func TestALaggingMapNeverRefusesAFreeSeat(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	here, late := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna, boris := newPerson(), newPerson()
	annas := here.mustHold(anna, "A1", "A2")
	boriss := here.mustHold(boris, "A5")
	late.freeze()
	late.log.take()
	require.NoError(t, here.release(anna, annas.ID))
	boriss, err := here.addSeats(boris, boriss.ID, "A6")
	require.NoError(t, err)
	here.mustHold(newPerson(), "A7")

	late.mustHold(newPerson(), "A1", "A2")
	_, err = late.hold(newPerson(), "A7")
	refused(t, err, held("A7"))
	sold, err := late.confirm(boris, boriss.ID)

	require.NoError(t, err, "the map has never heard of A6")
	require.Equal(t, []booking.Seat{"A5", "A6"}, sold.Seats)
	require.Equal(t, []booking.Status{booking.Sold, booking.Sold}, h.statuses("A5", "A6"))
	h.sound(h.hall.show.ID)
}

func TestWithoutAMapTheLogIsAsked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r := h.replica(booking.Config{})
	r.m.gone = true
	anna := newPerson()

	b := r.mustHold(anna, "A1", "A2")
	_, err := r.hold(newPerson(), "A2")
	refused(t, err, held("A2"))
	_, err = r.addSeats(anna, b.ID, "A3")
	require.NoError(t, err)
	_, err = r.giveBack(anna, b.ID, "A1")
	require.NoError(t, err)
	sold, err := r.confirm(anna, b.ID)

	require.NoError(t, err)
	require.Equal(t, []booking.Seat{"A2", "A3"}, sold.Seats)
	h.sound(h.hall.show.ID)
}

// When lock and map agree, losers lose without a visit to the database.
func TestLosersDontAskTheLog(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	winner, r := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna := newPerson()
	winner.mustHold(newPerson(), "A1", "A2")
	b := r.mustHold(anna, "A5")
	r.log.take()

	_, err := r.hold(newPerson(), "A3", "A2")
	refused(t, err, held("A2"))
	_, err = r.addSeats(anna, b.ID, "A1")
	refused(t, err, held("A1"))
	require.Empty(t, r.log.take(), "neither needed the log")

	r.mustHold(newPerson(), "A7")
	require.Equal(t, []string{"append"}, r.log.take(), "who wins takes one round trip")
	_, err = r.addSeats(anna, b.ID, "A6")
	require.NoError(t, err)
	_, err = r.confirm(anna, b.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"append", "append"}, r.log.take())
}

// A process is paused past its hold's end, and a rival buys: when it goes on, the log tells it so.
func TestAProcessPausedPastItsHoldSellsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	paused, rival := h.replica(booking.Config{HoldFor: 150 * time.Millisecond}), h.replica(booking.Config{})
	anna := newPerson()
	b := paused.mustHold(anna, "A1", "A2")
	paused.freeze()
	h.waitFor(b.ExpiresAt)
	other := newPerson()
	taken := rival.mustHold(other, "A1")
	_, err := rival.confirm(other, taken.ID)
	require.NoError(t, err)

	_, err = paused.confirm(anna, b.ID)
	require.ErrorIs(t, err, booking.ErrHoldExpired)
	_, err = paused.addSeats(anna, b.ID, "A3")
	require.ErrorIs(t, err, booking.ErrHoldExpired)
	require.ErrorIs(t, paused.release(anna, b.ID), booking.ErrHoldExpired)

	require.Equal(t, taken.ID, h.state().Seats["A1"].Booking)
	require.Equal(t, []booking.Status{booking.Sold, booking.Available, booking.Available}, h.statuses("A1", "A2", "A3"))
	h.sound(h.hall.show.ID)
}

// A hold that was swept while its owner's append was under way is told as expired, not as lost.
func TestAnEventThatSaysExpiredMeansExpired(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A1")
	r.freeze()
	state := h.state()
	data := `{"booking":"` + b.ID.String() + `","session":"` + anna.session.String() + `","state":"expired","seats":[],
		"total":{"amount":0,"currency":"EUR"},"why":"expire","who":"` + uuid.Nil.String() + `"}`
	_, err := h.store.Append(t.Context(), eventstore.Request{
		Stream: h.hall.show.ID,
		Events: []eventstore.NewEvent{{
			ID: uuid.New(), Entity: booking.BookingEntity(b.ID), Prev: state.Bookings[b.ID].Seq,
			Type: booking.TypeBookingExpired, Data: []byte(data),
		}},
		Bookings: []eventstore.BookingChange{{
			ID: b.ID, Session: anna.session, Entity: booking.BookingEntity(b.ID), State: "expired",
		}},
	})
	require.NoError(t, err)

	_, err = r.confirm(anna, b.ID)

	require.ErrorIs(t, err, booking.ErrHoldExpired)
}
