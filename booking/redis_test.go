package booking_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/lock"
)

// locker is a look at the house's locks from outside.
func (h *house) locker() *lock.Locker {
	h.t.Helper()
	l, err := lock.New(h.redis, lock.Config{Prefix: h.prefix})
	require.NoError(h.t, err)
	return l
}

// holders says who has the locks of seats: the refusal that a stranger meets.
func (h *house) holders(seats ...string) map[string]uuid.UUID {
	h.t.Helper()
	stranger := lock.Request{Showing: h.hall.show.ID, Seats: seats, Owner: uuid.New(), ID: "look", TTL: time.Second}
	_, err := h.locker().Acquire(h.t.Context(), stranger)
	if err == nil {
		require.NoError(h.t, h.locker().Release(h.t.Context(), stranger.Showing, stranger.Owner, "look", seats))
		return map[string]uuid.UUID{}
	}
	var taken *lock.TakenError
	require.ErrorAs(h.t, err, &taken)
	return taken.Holders
}

func TestLocksLiveAsLongAsWhatTheyGuard(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r := h.replica(booking.Config{LockFor: 300 * time.Millisecond})
	anna := newPerson()
	b := r.mustHold(anna, "A1", "A2")
	_, err := r.addSeats(anna, b.ID, "A3")
	require.NoError(t, err)
	r.mustHold(newPerson(), "A9")
	h.waitFor(b.Now.Add(400 * time.Millisecond))
	require.Equal(t, map[string]uuid.UUID{"A1": b.ID, "A2": b.ID, "A3": b.ID}, h.holders("A1", "A2", "A3", "A4"),
		"they outlive the time before the verdict")

	_, err = r.addSeats(anna, b.ID, "A4", "A9")
	require.Error(t, err)
	require.Empty(t, h.holders("A4"), "a refused command keeps no lock")
	_, err = r.giveBack(anna, b.ID, "A3")
	require.NoError(t, err)
	require.Empty(t, h.holders("A3"))
	require.NoError(t, r.release(anna, b.ID))
	require.Empty(t, h.holders("A1", "A2", "A3", "A4"))
}

// Redis forgets everything, as after a restart or a failover: no seat is held twice.
func TestRedisForgetsEverything(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r := h.replica(booking.Config{})
	anna := newPerson()
	b := r.mustHold(anna, "A1", "A2")
	require.NoError(t, h.redis.Del(t.Context(), h.locker().Key(h.hall.show.ID)).Err())

	_, err := r.hold(newPerson(), "A2", "A3")
	refused(t, err, held("A2"))
	require.Empty(t, h.holders("A2", "A3"), "the loser's lock is gone again")
	r.mustHold(newPerson(), "A3")
	_, err = r.addSeats(anna, b.ID, "A4")
	require.NoError(t, err)
	sold, err := r.confirm(anna, b.ID)

	require.NoError(t, err)
	require.Equal(t, []booking.Seat{"A1", "A2", "A4"}, sold.Seats)
	h.sound(h.hall.show.ID)
}

// Redis' clock is behind, or a crash left a lock behind: the log decides, and the lock changes hands.
func TestALockThatTheLogDoesNotKnowIsReplaced(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	r := h.replica(booking.Config{})
	ghost := uuid.New()
	_, err := h.locker().Acquire(t.Context(), lock.Request{
		Showing: h.hall.show.ID, Seats: []string{"A1"}, Owner: ghost, ID: "left behind", TTL: time.Hour,
	})
	require.NoError(t, err)

	b := r.mustHold(newPerson(), "A1", "A2")

	require.Equal(t, map[string]uuid.UUID{"A1": b.ID, "A2": b.ID}, h.holders("A1", "A2"))
}

func TestALapsedHoldsLockIsTakenOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	brief := h.replica(booking.Config{HoldFor: 100 * time.Millisecond})
	old := brief.mustHold(newPerson(), "A1", "A2")
	_, err := h.locker().Renew(t.Context(), lock.Request{
		Showing: h.hall.show.ID, Seats: []string{"A1", "A2"}, Owner: old.ID, ID: "late clock", TTL: time.Hour,
	})
	if err != nil { // its own clock ended it already: put it back, as a clock that is late would have it
		_, err = h.locker().Acquire(t.Context(), lock.Request{
			Showing: h.hall.show.ID, Seats: []string{"A1", "A2"}, Owner: old.ID, ID: "late clock", TTL: time.Hour,
		})
	}
	require.NoError(t, err)
	h.waitFor(old.ExpiresAt)

	b := h.replica(booking.Config{}).mustHold(newPerson(), "A1")

	require.Equal(t, map[string]uuid.UUID{"A1": b.ID}, h.holders("A1", "A2"))
	h.sound(h.hall.show.ID)
}

func TestALockedShowingSellsNothingMeanwhile(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	r := h.replica(booking.Config{})
	staff := uuid.New()
	_, err := h.locker().LockShowing(t.Context(), h.hall.show.ID, staff, "rebuild", time.Minute)
	require.NoError(t, err)

	_, err = r.hold(newPerson(), "A1")

	require.ErrorIs(t, err, booking.ErrUnavailable)
	require.Empty(t, h.state().Bookings)
}

// Redis is gone altogether: sales go on, guarded by the log alone, and no seat is sold twice.
func TestSalesGoOnWithoutRedis(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Redis)
	h := newHouseOn(t, 10, stack.RedisURL(), "gone:")
	replicas := []*replica{h.replica(booking.Config{}), h.replica(booking.Config{})}
	anna := newPerson()
	b := replicas[0].mustHold(anna, "A1")
	require.NoError(t, stack.StopRedis(t.Context()))

	_, err := replicas[1].hold(newPerson(), "A1")
	refused(t, err, held("A1"))
	outcomes := rush(40, replicas, func(_ int, r *replica) error {
		_, err := r.hold(newPerson(), "A5", "A6")
		return err
	})
	winners := 0
	for _, err := range outcomes {
		if err == nil {
			winners++
			continue
		}
		var unavailable *booking.SeatsUnavailableError
		require.ErrorAs(t, err, &unavailable)
	}
	require.Equal(t, 1, winners)
	_, err = replicas[1].confirm(anna, b.ID)
	require.NoError(t, err)
	require.NoError(t, stack.StartRedis(t.Context()))
	_, err = replicas[1].hold(newPerson(), "A1", "A2")
	refused(t, err, booking.SeatProblem{Seat: "A1", Status: booking.Sold})
	h.sound(h.hall.show.ID)
}

// A server gave seats back and was stopped before it could unlock them; another stood still since before that. Its map and the
// lock agree that someone has the seats, and both are wrong: a map that old refuses nobody, the log decides.
func TestOldMapRefusesNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 10)
	slow, quick := h.replica(booking.Config{}), h.replica(booking.Config{})
	anna := newPerson()
	b := quick.mustHold(anna, "A1", "A2")
	slow.freeze()
	require.NoError(t, quick.release(anna, b.ID))
	_, err := h.locker().Acquire(t.Context(), lock.Request{
		Showing: h.hall.show.ID, Seats: []string{"A1", "A2"}, Owner: b.ID, ID: "left", TTL: time.Minute,
	})
	require.NoError(t, err)

	_, err = slow.hold(newPerson(), "A1")
	refused(t, err, held("A1"))
	slow.m.mu.Lock()
	slow.m.old = true
	slow.m.mu.Unlock()
	slow.mustHold(newPerson(), "A1")
	h.sound(h.hall.show.ID)
}
