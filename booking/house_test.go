package booking_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
)

// seatPrice is what every seat of a test's hall costs.
const seatPrice = 1000

// house is a showing on real stores, for as many replicas as a test opens.
type house struct {
	t      *testing.T
	pool   *pgxpool.Pool
	redis  redis.UniversalClient
	prefix string
	store  *eventstore.Store
	hall   *hall
	// heads are the latest seqs that any replica acknowledged: the hints.
	heads sync.Map
}

// newHouse opens a showing with seats A1 … An.
func newHouse(t *testing.T, seats int) *house {
	t.Helper()
	url, prefix := stacktest.Redis(t)
	return newHouseOn(t, seats, url, prefix)
}

func newHouseOn(t *testing.T, seats int, redisURL, prefix string) *house {
	t.Helper()
	url := stacktest.Postgres(t)
	_, err := eventstore.Migrate(t.Context(), url, "")
	require.NoError(t, err)
	pool, err := eventstore.NewPool(t.Context(), url, eventstore.PoolConfig{MaxConns: 6, ConnectTimeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	client, err := lock.NewClient(redisURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })

	h := &house{t: t, pool: pool, redis: client, prefix: prefix, hall: newHall(seats)}
	h.store = h.openStore()
	h.openStream(h.hall.show.ID)
	return h
}

// openStream puts a showing on sale.
func (h *house) openStream(showing uuid.UUID) {
	h.t.Helper()
	first, err := booking.NewShowingOpened(h.hall.show.Layout, 1)
	require.NoError(h.t, err)
	require.NoError(h.t, h.store.OpenStream(h.t.Context(), showing, first))
}

// openStore runs an event store until the test ends.
func (h *house) openStore() *eventstore.Store {
	h.t.Helper()
	store, err := eventstore.Open(h.t.Context(), h.pool, eventstore.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		require.NoError(h.t, <-ended)
	})
	return store
}

// replica is one running server's share: its own service, store and map.
type replica struct {
	*booking.Service
	h   *house
	log *spyLog
	m   *foldedMap
}

// replica opens one more; cfg is the service's.
func (h *house) replica(cfg booking.Config) *replica {
	h.t.Helper()
	log := &spyLog{Store: h.openStore()}
	m := &foldedMap{h: h, states: map[uuid.UUID]*booking.State{}}
	notify := cfg.Notify
	cfg.Notify = func(showing uuid.UUID, seq int64) {
		h.heads.Store(showing, seq)
		if notify != nil {
			notify(showing, seq)
		}
	}
	locker, err := lock.New(h.redis, lock.Config{Prefix: h.prefix})
	require.NoError(h.t, err)
	service, err := booking.NewService(cfg, log, locker, h.hall, m)
	require.NoError(h.t, err)
	return &replica{Service: service, h: h, log: log, m: m}
}

// hall is a catalogue of one showing, or of more that are just alike.
type hall struct {
	mu   sync.Mutex
	show booking.Showing
	more map[uuid.UUID]bool
}

func newHall(seats int) *hall {
	places := map[booking.Seat]booking.Place{}
	for i := range seats {
		places[booking.Seat(fmt.Sprintf("A%d", i+1))] = booking.Place{Order: i, Price: seatPrice}
	}
	return &hall{more: map[uuid.UUID]bool{}, show: booking.Showing{
		ID: uuid.New(), Layout: uuid.New(), LayoutVersion: 1, Currency: "EUR", Places: places,
		OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(24 * time.Hour),
	}}
}

func (l *hall) Offer(id uuid.UUID) (booking.Showing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	show := l.show
	show.ID = id
	return show, id == l.show.ID || l.more[id]
}

// add is one more showing, just like the first.
func (l *hall) add(showing uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.more[showing] = true
}

func (l *hall) change(f func(*booking.Showing)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.show)
}

// person is a session at the house's showing, which gives each of its commands a key of its own.
type person struct {
	session uuid.UUID
}

func newPerson() person { return person{session: uuid.New()} }

// command is one that wants something of a route with a body.
func (p person) command(route string, body ...booking.Seat) booking.Command {
	text := make([]string, len(body))
	for i, seat := range body {
		text[i] = string(seat)
	}
	return booking.Command{
		Session: p.session, Key: uuid.NewString(), Route: route, Body: sha256.Sum256([]byte(strings.Join(text, ","))),
	}
}

func (r *replica) hold(p person, seats ...booking.Seat) (booking.Booking, error) {
	return r.Hold(r.h.t.Context(), p.command("hold", seats...), r.h.hall.show.ID, seats)
}

func (r *replica) addSeats(p person, id uuid.UUID, seats ...booking.Seat) (booking.Booking, error) {
	return r.AddSeats(r.h.t.Context(), p.command("add", seats...), id, seats)
}

func (r *replica) giveBack(p person, id uuid.UUID, seat booking.Seat) (booking.Booking, error) {
	return r.GiveBack(r.h.t.Context(), p.command("give-back", seat), id, seat)
}

func (r *replica) confirm(p person, id uuid.UUID) (booking.Booking, error) {
	return r.Confirm(r.h.t.Context(), p.command("confirm"), id)
}

func (r *replica) release(p person, id uuid.UUID) error {
	_, err := r.Release(r.h.t.Context(), p.command("release"), id)
	return err
}

// mustHold is a hold that the test takes for granted.
func (r *replica) mustHold(p person, seats ...booking.Seat) booking.Booking {
	r.h.t.Helper()
	b, err := r.hold(p, seats...)
	require.NoError(r.h.t, err)
	return b
}

// waitFor waits until the database's clock has reached an instant.
func (h *house) waitFor(instant time.Time) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		var reached bool
		err := h.pool.QueryRow(h.t.Context(), "SELECT clock_timestamp() >= $1", instant).Scan(&reached)
		return err == nil && reached
	}, 10*time.Second, 2*time.Millisecond)
}

// state is the showing as the log has it.
func (h *house) state() *booking.State {
	h.t.Helper()
	state := booking.NewState()
	require.NoError(h.t, catchUp(h.t.Context(), h.store, h.hall.show.ID, state))
	return state
}

// statuses are those of the seats in the log.
func (h *house) statuses(seats ...booking.Seat) []booking.Status {
	h.t.Helper()
	state := h.state()
	var all []booking.Status
	for _, seat := range seats {
		status := state.Seats[seat].Status
		if status == "" {
			status = booking.Available
		}
		all = append(all, status)
	}
	return all
}

// refused asserts that err refuses exactly these seats.
func refused(t *testing.T, err error, seats ...booking.SeatProblem) {
	t.Helper()
	var unavailable *booking.SeatsUnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, seats, unavailable.Seats)
}

func held(seat booking.Seat) booking.SeatProblem {
	return booking.SeatProblem{Seat: seat, Status: booking.Held}
}

// numbered are seats A<from> … A<to>.
func numbered(from, to int) []booking.Seat {
	var seats []booking.Seat
	for i := from; i <= to; i++ {
		seats = append(seats, booking.Seat(fmt.Sprintf("A%d", i)))
	}
	return seats
}

// same asserts that two bookings are the same but for the clock.
func same(t require.TestingT, want, got booking.Booking) {
	got.Now = want.Now
	if !want.ExpiresAt.IsZero() && want.ExpiresAt.Equal(got.ExpiresAt) {
		got.ExpiresAt = want.ExpiresAt
	}
	require.Equal(t, want, got)
}

// sound asserts what must be true of every log: seats and bookings agree, and each chain is unbroken.
func (h *house) sound(showing uuid.UUID) {
	h.t.Helper()
	state, latest := booking.NewState(), map[string]int64{}
	for {
		events, err := h.store.Read(h.t.Context(), showing, state.Seq, 1000)
		require.NoError(h.t, err)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			require.Equal(h.t, state.Seq+1, e.Seq, "seq has a gap")
			require.Equal(h.t, latest[e.Entity], e.Prev, "the chain of %s is broken", e.Entity)
			latest[e.Entity] = e.Seq
			require.NoError(h.t, state.Apply(e))
		}
	}
	soundState(h.t, state)
}

func soundState(t require.TestingT, state *booking.State) {
	owners := map[booking.Seat]uuid.UUID{}
	for id, live := range state.Bookings {
		for _, seat := range live.Seats {
			_, twice := owners[seat]
			require.False(t, twice, "seat %s has two owners", seat)
			owners[seat] = id
		}
		require.Equal(t, booking.Money{Amount: int64(len(live.Seats)) * seatPrice, Currency: "EUR"}, live.Total)
		require.True(t, slices.IsSortedFunc(live.Seats, func(a, b booking.Seat) int { return number(t, a) - number(t, b) }),
			"seats %v are not in the layout's order", live.Seats)
	}
	for seat, s := range state.Seats {
		owner, owned := owners[seat]
		require.Equal(t, owned, s.Status == booking.Held || s.Status == booking.Sold, "seat %s", seat)
		require.Equal(t, owner, s.Booking, "seat %s", seat)
	}
}

// number is 7 for A7.
func number(t require.TestingT, seat booking.Seat) int {
	n, err := strconv.Atoi(string(seat[1:]))
	require.NoError(t, err)
	return n
}
