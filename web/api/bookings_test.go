package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestABookingFromStartToEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()

	held := me.do(http.MethodPost, s.bookingsPath(), wanted("A2", "A1"))
	require.Equal(t, http.StatusCreated, held.status, "%s", held.raw)
	require.Equal(t, "application/json", held.header.Get("Content-Type"))
	require.Equal(t, "no-store", held.header.Get("Cache-Control"))
	require.Len(t, held.body, 8, "a booking has exactly the contract's members")
	id := held.text("id")
	require.Equal(t, s.showings.open.String(), held.text("showing"))
	require.Equal(t, "held", held.text("state"))
	require.Equal(t, []any{"A1", "A2"}, held.body["seats"])
	require.EqualValues(t, 4, held.number("seq"))
	require.Equal(t, map[string]any{"amount": 2000.0, "currency": "EUR"}, held.body["total"])
	expires, err := time.Parse(time.RFC3339, held.text("expires_at"))
	require.NoError(t, err)
	now, err := time.Parse(time.RFC3339, held.text("now"))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(held.text("now"), "Z"))
	require.InDelta(t, 10*time.Minute, expires.Sub(now), float64(5*time.Second))

	added := me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A3"))
	require.Equal(t, http.StatusOK, added.status, "%s", added.raw)
	require.Equal(t, []any{"A1", "A2", "A3"}, added.body["seats"])
	require.Equal(t, held.text("expires_at"), added.text("expires_at"), "adding lengthens nothing")

	given := me.do(http.MethodDelete, "/bookings/"+id+"/seats/A1", "")
	require.Equal(t, http.StatusOK, given.status, "%s", given.raw)
	require.Equal(t, []any{"A2", "A3"}, given.body["seats"])

	confirmed := me.do(http.MethodPost, "/bookings/"+id+"/confirm", "")
	require.Equal(t, http.StatusOK, confirmed.status, "%s", confirmed.raw)
	require.Equal(t, "confirmed", confirmed.text("state"))
	require.Equal(t, []any{"A2", "A3"}, confirmed.body["seats"])
	require.Contains(t, confirmed.body, "expires_at")
	require.Nil(t, confirmed.body["expires_at"])

	read := me.do(http.MethodGet, "/bookings/"+id, "")
	require.Equal(t, http.StatusOK, read.status)
	require.Equal(t, "confirmed", read.text("state"))
	require.Equal(t, confirmed.number("seq"), read.number("seq"))

	second := me.hold("A4")
	list := me.do(http.MethodGet, "/bookings", "")
	require.Equal(t, http.StatusOK, list.status)
	all, _ := list.body["bookings"].([]any)
	require.Len(t, all, 2)
	newest, _ := all[0].(map[string]any)
	require.Equal(t, second, newest["id"])

	stranger := s.customer()
	stranger.do(http.MethodGet, "/bookings/"+id, "").problem(404, "not-found")
	require.Equal(t, []any{}, stranger.do(http.MethodGet, "/bookings", "").body["bookings"])
}

func TestReleasing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	id := me.hold("A1", "A2")
	for range 2 { // with two keys: released again is released
		r := me.do(http.MethodDelete, "/bookings/"+id, "")
		require.Equal(t, http.StatusNoContent, r.status, "%s", r.raw)
		require.Empty(t, r.raw)
	}
	read := me.do(http.MethodGet, "/bookings/"+id, "")
	require.Equal(t, "released", read.text("state"))
	require.Equal(t, []any{}, read.body["seats"])
	require.Nil(t, read.body["expires_at"])
	me.do(http.MethodPost, "/bookings/"+id+"/confirm", "").problem(409, "booking-not-held")
	s.customer().hold("A1", "A2")

	last := me.hold("A3")
	r := me.do(http.MethodDelete, "/bookings/"+last+"/seats/A3", "")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, "released", r.text("state"), "the last seat releases the booking")
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.booking.MaxSeats = 3 })
	me, other := s.customer(), s.customer()
	id := me.hold("A1", "A2")
	theirs := other.hold("A3")

	r := other.do(http.MethodPost, "/bookings/"+theirs+"/seats", wanted("A4", "A1"))
	r.problem(409, "seats-unavailable")
	require.Equal(t, []any{map[string]any{"seat": "A1", "status": "held"}}, r.body["seats"])
	require.Equal(t, []any{"A3"}, other.do(http.MethodGet, "/bookings/"+theirs, "").body["seats"], "all or none")

	r = me.do(http.MethodPost, s.bookingsPath(), wanted("A5"))
	r.problem(409, "booking-exists")
	existing, _ := r.body["booking"].(map[string]any)
	require.Equal(t, id, existing["id"])
	require.Equal(t, []any{"A1", "A2"}, existing["seats"])

	r = me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A4", "Z9"))
	r.problem(422, "unknown-seat").fault("body.seats")
	r = me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A4", "A5"))
	r.problem(422, "too-many-seats").fault("body.seats")
	require.Contains(t, string(r.raw), "at most 3 seats")

	for _, showing := range []uuid.UUID{s.showings.scheduled, s.showings.closed, s.showings.cancelled} {
		r = me.do(http.MethodPost, "/showings/"+showing.String()+"/bookings", wanted("A1"))
		r.problem(409, "sales-closed")
		of, _ := s.catalogue.Showing(showing)
		require.Equal(t, of.OpensAt.UTC().Format(time.RFC3339), r.text("opens_at"))
		require.Equal(t, of.ClosesAt.UTC().Format(time.RFC3339), r.text("closes_at"))
	}

	require.Equal(t, 200, me.do(http.MethodPost, "/bookings/"+id+"/confirm", "").status)
	for _, call := range [][3]string{
		{"POST", "/confirm", ""}, {"POST", "/seats", wanted("A4")}, {"DELETE", "/seats/A1", ""}, {"DELETE", "", ""},
	} {
		r = me.do(call[0], "/bookings/"+id+call[1], call[2])
		r.problem(409, "booking-not-held")
		require.Equal(t, "confirmed", r.text("state"), "%v", call)
	}
}

func TestWhatIsNotThereOrNotYours(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me, stranger := s.customer(), s.customer()
	id := me.hold("A1")
	for _, of := range []string{id, uuid.NewString(), "x", "%2e%2e"} {
		stranger.do(http.MethodGet, "/bookings/"+of, "").problem(404, "not-found")
		stranger.do(http.MethodPost, "/bookings/"+of+"/confirm", "").problem(404, "not-found")
		stranger.do(http.MethodPost, "/bookings/"+of+"/seats", wanted("A2")).problem(404, "not-found")
		stranger.do(http.MethodDelete, "/bookings/"+of+"/seats/A1", "").problem(404, "not-found")
		stranger.do(http.MethodDelete, "/bookings/"+of, "").problem(404, "not-found")
	}
	me.do(http.MethodDelete, "/bookings/"+id+"/seats/A2", "").problem(404, "not-found")
	stranger.do(http.MethodPost, "/showings/"+uuid.NewString()+"/bookings", wanted("A1")).problem(404, "not-found")
	stranger.do(http.MethodPost, "/showings/x/bookings", wanted("A1")).problem(404, "not-found")
	require.Equal(t, "held", me.do(http.MethodGet, "/bookings/"+strings.ToUpper(id), "").text("state"))
}

// A hold that ran out says so, whether or not anybody swept it; the next click starts anew.
func TestAHoldThatRanOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.booking.HoldFor = 200 * time.Millisecond })
	me := s.customer()
	id := me.hold("A1")
	require.Eventually(t, func() bool {
		return me.do(http.MethodGet, "/bookings/"+id, "").text("state") == "expired"
	}, time.Minute, 20*time.Millisecond)
	me.do(http.MethodPost, "/bookings/"+id+"/confirm", "").problem(410, "hold-expired")
	me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A2")).problem(410, "hold-expired")
	me.do(http.MethodDelete, "/bookings/"+id+"/seats/A1", "").problem(410, "hold-expired")
	me.do(http.MethodDelete, "/bookings/"+id, "").problem(410, "hold-expired")
	me.hold("A1")
}

func TestOneSeatAHundredTries(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	customers := make([]*customer, 20)
	for i := range customers {
		customers[i] = s.customer()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, lost := 0, 0
	for _, c := range customers {
		for range 5 {
			wg.Go(func() {
				r := c.do(http.MethodPost, s.bookingsPath(), wanted("A1"))
				mu.Lock()
				defer mu.Unlock()
				switch r.status {
				case http.StatusCreated:
					won++
				case http.StatusConflict:
					lost++
				default:
					t.Errorf("%d %s", r.status, r.raw)
				}
			})
		}
	}
	wg.Wait()
	require.Equal(t, 1, won)
	require.Equal(t, 99, lost)
}

func TestTooManySeatsFromOneAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.booking.MaxSeatsPerAddress = 2
		set.api.AddressKey = []byte("0123456789abcdef0123456789abcdef")
		set.api.TrustedProxies = localProxies()
	})
	from := func(c *customer, address string, seats ...string) reply {
		return c.do(http.MethodPost, s.bookingsPath(), wanted(seats...), "X-Forwarded-For", address)
	}
	require.Equal(t, 201, from(s.customer(), "203.0.113.7", "A1", "A2").status)
	r := from(s.customer(), "203.0.113.7", "A3")
	r.problem(429, "rate-limited").retryAfter()
	require.Equal(t, 201, from(s.customer(), "203.0.113.8", "A3").status, "another address")
	require.Equal(t, 201, from(s.customer(), "", "A4", "A5", "A6").status, "loopback is exempt")

	var addresses []string
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT array_agg(coalesce(address, '')) FROM bookings`).Scan(&addresses))
	for _, address := range addresses {
		require.NotContains(t, address, "203.0.113", "no address is kept in the clear")
	}
	require.NotContains(t, s.log.String(), "203.0.113")
}
