package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/cmd/aisle/app"
)

// left is how many seats the programme says are left.
func (b *buyer) left(showing uuid.UUID) int {
	b.t.Helper()
	var s struct {
		Seats struct{ Available int } `json:"seats"`
	}
	require.Equal(b.t, http.StatusOK, b.call(http.MethodGet, "/showings/"+showing.String(), "", "", &s))
	return s.Seats.Available
}

// Seats that are held, given back, sold or released are so in the programme's counts of every replica soon after, also of
// one on which nobody looks at the showing.
func TestCountsFollowOnEveryReplica(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	here, there := h.start(t), h.start(t)
	b, visitor := newBuyer(t, here), newBuyer(t, there)
	everywhere := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool {
			return b.left(h.showing) == want && visitor.left(h.showing) == want
		}, patience, 50*time.Millisecond, "%d seats are left", want)
	}
	everywhere(240)

	held, status := b.hold(h.showing, "D1", "D2", "D3")
	require.Equal(t, http.StatusCreated, status)
	everywhere(237)
	require.Equal(t, http.StatusOK, b.call(http.MethodDelete, "/bookings/"+held.ID.String()+"/seats/D3", uuid.NewString(), "", nil))
	everywhere(238)
	require.Equal(t, http.StatusNoContent, b.call(http.MethodDelete, "/bookings/"+held.ID.String(), uuid.NewString(), "", nil))
	everywhere(240)
	kept, status := b.hold(h.showing, "D1")
	require.Equal(t, http.StatusCreated, status)
	_, status = b.confirm(kept.ID)
	require.Equal(t, http.StatusOK, status)
	everywhere(239)
}

// A replica without etcd has no leader that counts for it, and without Redis no snapshot: it counts itself, and the first
// who asks hears the truth.
func TestCountsWithoutALeader(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := newBuyer(t, h.start(t))
	held, status := b.hold(h.showing, "D1", "D2")
	require.Equal(t, http.StatusCreated, status)
	_, status = b.confirm(held.ID)
	require.Equal(t, http.StatusOK, status)

	alone := h.start(t, func(cfg *app.Config) { cfg.RedisURL, cfg.EtcdEndpoints = "", nil })
	require.Equal(t, 238, b.at(alone).left(h.showing))
}
