package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/cmd/aisle/app"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

// A click at one replica turns the seat at another, and so does what becomes of it.
func TestChangesReachOtherReplicas(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	here, there := h.start(t), h.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watcher := newBuyer(t, there).watch(ctx, h.showing)
	b := newBuyer(t, here)

	held, status := b.hold(h.showing, "F7", "F8")
	require.Equal(t, http.StatusCreated, status)
	waitSeat(ctx, t, watcher, h.showing, "F8", "held")
	sold, status := b.at(there).confirm(held.ID)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "confirmed", sold.State)
	waitSeat(ctx, t, watcher, h.showing, "F7", "sold")
}

// The session's other devices hear of its booking, wherever they are connected and whatever they look at.
func TestOwnBookingReachesOtherDevice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	here, there := h.start(t), h.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := newBuyer(t, here)
	device := b.at(there).watch(ctx, h.showing)
	_, err := device.WaitMap(ctx, h.showing, func(realtimetest.Map) bool { return true })
	require.NoError(t, err)

	held, status := b.hold(h.showing, "C3")
	require.Equal(t, http.StatusCreated, status)
	raw, err := device.WaitBooking(ctx, 1)
	require.NoError(t, err)
	var told bookingBody
	require.NoError(t, json.Unmarshal(raw, &told))
	require.Equal(t, held, told)
}

// A hold that its owner abandons is on sale again, on every screen, soon after its end.
func TestAbandonedHoldGoesBackOnSale(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*app.Config){
		"by the leader":  func(*app.Config) {},
		"without etcd":   func(c *app.Config) { c.EtcdEndpoints = nil },
		"without Redis":  func(c *app.Config) { c.RedisURL = "" },
		"with log alone": func(c *app.Config) { c.RedisURL, c.EtcdEndpoints = "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.cfg.HoldFor = time.Second
			r := h.start(t, change)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			watcher := newBuyer(t, r).watch(ctx, h.showing)
			_, status := newBuyer(t, r).hold(h.showing, "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10")
			require.Equal(t, http.StatusCreated, status)
			waitSeat(ctx, t, watcher, h.showing, "A10", "held")
			waitSeat(ctx, t, watcher, h.showing, "A10", "available")
		})
	}
}

// A restart keeps every sale.
func TestRestartKeepsSales(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.start(t)
	b := newBuyer(t, r)
	held, status := b.hold(h.showing, "D4")
	require.Equal(t, http.StatusCreated, status)
	_, status = b.confirm(held.ID)
	require.Equal(t, http.StatusOK, status)
	r.stop()

	again := b.at(h.start(t))
	seats, status := again.seats(h.showing)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "sold", seats.Seats["D4"])
	var mine bookingBody
	require.Equal(t, http.StatusOK, again.call(http.MethodGet, "/bookings/"+held.ID.String(), "", "", &mine))
	require.Equal(t, "confirmed", mine.State)
}

// A retry at another replica, after the first one is gone, finds the first outcome.
func TestRetryAtAnotherReplica(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first, second := h.start(t), h.start(t)
	b := newBuyer(t, first)
	key, path, body := uuid.NewString(), "/showings/"+h.showing.String()+"/bookings", `{"seats":["E5"]}`
	var once, twice bookingBody
	require.Equal(t, http.StatusCreated, b.call(http.MethodPost, path, key, body, &once))
	first.stop()
	require.Equal(t, http.StatusCreated, b.at(second).call(http.MethodPost, path, key, body, &twice))
	require.Equal(t, once, twice)
}

// Sales and live maps go on without Redis, and again with it when it comes back empty.
func TestRedisGoneAndBack(t *testing.T) {
	t.Parallel()
	h, stack := newOwnHouse(t)
	here, there := h.start(t), h.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	watcher := newBuyer(t, there).watch(ctx, h.showing)
	b := newBuyer(t, here)
	b.sell(ctx, h.showing, watcher, "B1")
	require.NoError(t, stack.StopRedis(ctx))
	b.sell(ctx, h.showing, watcher, "B2")
	require.NoError(t, stack.StartRedis(ctx))
	b.sell(ctx, h.showing, watcher, "B3")
	want := h.fold(t)
	require.Equal(t, "sold", h.snapshot(ctx, t, want.Seq)["B2"], "the leader fills an empty Redis again")
}

// Sales and live maps go on without etcd.
func TestEtcdGoneAndBack(t *testing.T) {
	t.Parallel()
	h, stack := newOwnHouse(t)
	here, there := h.start(t), h.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	watcher := newBuyer(t, there).watch(ctx, h.showing)
	b := newBuyer(t, here)
	b.sell(ctx, h.showing, watcher, "B1")
	require.NoError(t, stack.StopEtcd(ctx))
	b.sell(ctx, h.showing, watcher, "B2")
	require.NoError(t, stack.StartEtcd(ctx))
	b.sell(ctx, h.showing, watcher, "B3")
}

// Without PostgreSQL maps are shown, marked as old, and nothing can be bought: 503, nothing done. When it is
// back the maps are fresh and sales go on, with nothing lost that was acknowledged.
func TestPostgresGoneAndBack(t *testing.T) {
	t.Parallel()
	h, stack := newOwnHouse(t)
	r := h.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	b := newBuyer(t, r)
	watcher := b.watch(ctx, h.showing)
	b.sell(ctx, h.showing, watcher, "B1")

	require.NoError(t, stack.StopPostgres(ctx))
	_, err := watcher.WaitMap(ctx, h.showing, func(m realtimetest.Map) bool { return m.Stale })
	require.NoError(t, err)
	seats, status := b.seats(h.showing)
	require.Equal(t, http.StatusOK, status)
	require.True(t, seats.Stale)
	require.Equal(t, "sold", seats.Seats["B1"])
	_, status = b.hold(h.showing, "B2")
	require.Equal(t, http.StatusServiceUnavailable, status)

	require.NoError(t, stack.StartPostgres(ctx))
	m, err := watcher.WaitMap(ctx, h.showing, func(m realtimetest.Map) bool { return !m.Stale })
	require.NoError(t, err)
	require.Equal(t, "sold", m.Seats["B1"])
	require.Equal(t, "available", m.Seats["B2"])
	b.sell(ctx, h.showing, watcher, "B2")
}

// sell holds and confirms a seat, and waits until the watcher sees it sold.
func (b *buyer) sell(ctx context.Context, showing uuid.UUID, watcher *realtimetest.Client, seat string) {
	b.t.Helper()
	held, status := b.hold(showing, seat)
	require.Equal(b.t, http.StatusCreated, status, seat)
	_, status = b.confirm(held.ID)
	require.Equal(b.t, http.StatusOK, status, seat)
	waitSeat(ctx, b.t, watcher, showing, seat, "sold")
}

func waitSeat(ctx context.Context, t *testing.T, watcher *realtimetest.Client, showing uuid.UUID, seat, status string) {
	t.Helper()
	_, err := watcher.WaitMap(ctx, showing, func(m realtimetest.Map) bool { return m.Seats[seat] == status })
	require.NoError(t, err, "%s becomes %s", seat, status)
}
