package rows

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/cmd/aislebench/rivals"
	"github.com/aislehq/aisle/cmd/aislebench/stores"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func newBench(t *testing.T) *Bench {
	t.Helper()
	s, err := stores.Open(t.Context(), stacktest.Dir(t), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return &Bench{Stores: s, Measured: 3, Round: 100 * time.Millisecond, Progress: io.Discard, Logger: slog.New(slog.DiscardHandler)}
}

// All contestants mean the same: a comparison of speed is worth nothing otherwise.
func TestAllContestantsSellTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all, closeAll, err := b.entrants(t.Context())
	require.NoError(t, err)
	t.Cleanup(closeAll)
	require.Len(t, all, 6)
	for _, e := range all {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			sellsOnce(t, e.booker)
			sellsOutOnce(t, e.booker)
		})
	}
}

func sellsOnce(t *testing.T, booker rivals.Booker) {
	t.Helper()
	h := newHouse(2, 20)
	require.NoError(t, booker.Prepare(t.Context(), h))
	anna, ben := uuid.New(), uuid.New()
	first, second := h.Showings[0], h.Showings[1]
	a, err := booker.Hold(t.Context(), anna, first, h.Seats[2:4])
	require.NoError(t, err)
	_, err = booker.Hold(t.Context(), ben, first, h.Seats[2:4])
	require.ErrorIs(t, err, rivals.ErrTaken, "both are held")
	_, err = booker.Hold(t.Context(), ben, first, h.Seats[3:5])
	require.ErrorIs(t, err, rivals.ErrTaken, "one of them is held")
	_, err = booker.Hold(t.Context(), ben, first, h.Seats[4:6])
	require.NoError(t, err, "a refusal takes nothing")
	_, err = booker.Hold(t.Context(), ben, second, h.Seats[2:4])
	require.NoError(t, err, "another showing has seats of its own")

	require.ErrorIs(t, booker.Confirm(t.Context(), ben, a), rivals.ErrNotHeld, "it isn't Ben's")
	require.NoError(t, booker.Confirm(t.Context(), anna, a))
	_, err = booker.Hold(t.Context(), ben, second, h.Seats[2:3])
	require.Error(t, err)
	_, err = booker.Hold(t.Context(), uuid.New(), first, h.Seats[3:4])
	require.ErrorIs(t, err, rivals.ErrTaken, "it is sold")
}

// Many want each pair at once: one gets it.
func sellsOutOnce(t *testing.T, booker rivals.Booker) {
	t.Helper()
	h := newHouse(1, 20)
	require.NoError(t, booker.Prepare(t.Context(), h))
	var won [20]atomic.Int64
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			for seat := 0; seat+1 < len(h.Seats); seat++ {
				session := uuid.New()
				id, err := booker.Hold(t.Context(), session, h.Showings[0], h.Seats[seat:seat+2])
				if errors.Is(err, rivals.ErrTaken) {
					continue
				}
				if err == nil {
					err = booker.Confirm(t.Context(), session, id)
				}
				if err != nil {
					return err
				}
				won[seat].Add(1)
				won[seat+1].Add(1)
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	for seat := range won {
		assert.LessOrEqual(t, won[seat].Load(), int64(1), h.Seats[seat])
	}
}
