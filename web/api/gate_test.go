package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However many come, a replica begins no more than it can work on; the rest is told at once to come later, and looking at
// the seats goes on.
func TestMoreCommandsThanCanBeWorkedOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.api.MaxCommands = 1 })
	customers := make([]*customer, 8)
	for i := range customers {
		customers[i] = s.customer()
	}
	// The log stands still: someone has the showing's row.
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context())) //nolint:errcheck // only when the test failed before
	_, err = tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", s.showings.open)
	require.NoError(t, err)

	began := time.Now()
	answers := make(chan reply, len(customers))
	for i, c := range customers {
		go func() {
			answers <- c.do(http.MethodPost, s.bookingsPath(), `{"seats": ["A`+string(rune('1'+i%5))+`"]}`)
		}()
	}
	// One is worked on, four may wait: three are refused, before anyone else is through.
	for range 3 {
		r := (<-answers).problem(503, "unavailable")
		r.retryAfter()
		assert.Contains(t, r.text("detail"), "nothing was done")
	}
	require.Equal(t, 200, s.do(http.MethodGet, "/api/v1/showings/"+s.showings.open.String()+"/seats", "").status, "looking at the seats goes on")
	// Who waited for a second is refused too: it is better off elsewhere.
	for range 4 {
		(<-answers).problem(503, "unavailable")
	}
	assert.GreaterOrEqual(t, time.Since(began), time.Second)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 201, (<-answers).status, "what was begun is finished")
	require.Equal(t, 201, s.customer().do(http.MethodPost, s.bookingsPath(), `{"seats": ["A6"]}`).status, "and there is room again")
}
