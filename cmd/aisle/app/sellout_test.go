package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

const hallSeats = 240

// allSeats are the demo hall's codes, A1 … L20.
func allSeats() []string {
	var seats []string
	for row := 'A'; row <= 'L'; row++ {
		for number := 1; number <= 20; number++ {
			seats = append(seats, fmt.Sprintf("%c%d", row, number))
		}
	}
	return seats
}

// Two hundred customers at three replicas buy one showing out: every seat is sold once, and the log, the
// snapshot and each customer's own map say the same.
func TestSellOut(t *testing.T) {
	t.Parallel()
	const clients = 200
	h := newHouse(t)
	replicas := []*replica{h.start(t), h.start(t), h.start(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()

	watchers := make([]*realtimetest.Client, clients)
	var (
		mu    sync.Mutex
		owner = map[string]uuid.UUID{}
		group errgroup.Group
	)
	for i := range clients {
		b := newBuyer(t, replicas[i%len(replicas)])
		b.patient = true
		watchers[i] = b.watch(ctx, h.showing)
		group.Go(func() error {
			for {
				sold, err := b.buySome(ctx, watchers[i], h.showing)
				if err != nil || len(sold.Seats) == 0 {
					return err
				}
				mu.Lock()
				for _, seat := range sold.Seats {
					assert.NotContains(t, owner, seat, "sold twice")
					owner[seat] = sold.ID
				}
				mu.Unlock()
			}
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, owner, hallSeats, "all seats are sold")

	want := map[string]string{}
	for _, seat := range allSeats() {
		want[seat] = "sold"
	}
	state := h.fold(t)
	for seat, id := range owner {
		assert.Equal(t, booking.Sold, state.Seats[booking.Seat(seat)].Status, seat)
		assert.Equal(t, id, state.Seats[booking.Seat(seat)].Booking, seat)
	}
	for _, watcher := range watchers {
		m, err := watcher.WaitSeq(ctx, h.showing, state.Seq)
		require.NoError(t, err)
		require.Equal(t, want, m.Seats)
		require.Zero(t, watcher.Gaps())
	}
	assert.Equal(t, want, h.snapshot(ctx, t, state.Seq))
}

// buySome holds up to two seats that the customer's map shows as available and confirms them. Once the
// map has none left that are not sold it returns no booking.
func (b *buyer) buySome(ctx context.Context, live *realtimetest.Client, showing uuid.UUID) (bookingBody, error) {
	for {
		m, err := live.WaitMap(ctx, showing, func(m realtimetest.Map) bool {
			return len(with(m, "available")) > 0 || len(with(m, "sold")) == hallSeats
		})
		if err != nil {
			return bookingBody{}, err
		}
		free := with(m, "available")
		if len(free) == 0 {
			return bookingBody{}, nil
		}
		rand.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		held, status := b.hold(showing, free[:min(2, len(free))]...)
		switch status {
		case http.StatusConflict:
			continue // someone was faster
		case http.StatusCreated:
		default:
			return bookingBody{}, fmt.Errorf("hold: status %d", status)
		}
		sold, status := b.confirm(held.ID)
		if status != http.StatusOK {
			return bookingBody{}, fmt.Errorf("confirm: status %d", status)
		}
		return sold, nil
	}
}

func with(m realtimetest.Map, status string) []string {
	var seats []string
	for seat, s := range m.Seats {
		if s == status {
			seats = append(seats, seat)
		}
	}
	return seats
}

// fold is the showing as the log has it.
func (h *house) fold(t *testing.T) *booking.State {
	t.Helper()
	state := booking.NewState()
	for {
		events, err := h.store.Read(t.Context(), h.showing, state.Seq, 1000)
		require.NoError(t, err)
		if len(events) == 0 {
			return state
		}
		for _, event := range events {
			require.NoError(t, state.Apply(event))
		}
	}
}
