package api_test

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/web/api"
)

// clock is the replica's clock, which only the test moves.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Now().UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

func TestCommandsOfASession(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newSite(t, func(set *settings) {
		set.api.Commands = api.Limit{PerSecond: 0.5, Burst: 3}
		set.api.Now = clock.Now
	})
	me, other := s.customer(), s.customer()
	send := func(c *customer) reply { return c.do(http.MethodPost, "/bookings/"+uuid.NewString()+"/confirm", "") }
	for range 3 {
		send(me).problem(404, "not-found")
	}
	for range 3 {
		r := send(me).problem(429, "rate-limited")
		require.Equal(t, "2", r.header.Get("Retry-After"), "one command every two seconds")
	}
	send(other).problem(404, "not-found")
	require.Equal(t, 200, me.do(http.MethodGet, "/bookings", "").status, "reading is no command")
	clock.advance(time.Second)
	r := send(me).problem(429, "rate-limited")
	require.Equal(t, "1", r.header.Get("Retry-After"))
	clock.advance(time.Second)
	send(me).problem(404, "not-found")
	send(me).problem(429, "rate-limited")
}

func TestSessionsOfAnAddress(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newSite(t, func(set *settings) {
		set.api.Sessions = api.Limit{PerSecond: 1, Burst: 2}
		set.api.TrustedProxies = localProxies()
		set.api.Now = clock.Now
	})
	start := func(address string) reply {
		return s.do(http.MethodPost, "/api/v1/sessions", "", "X-Forwarded-For", address)
	}
	for range 2 {
		require.Equal(t, 201, start("203.0.113.7").status)
	}
	start("203.0.113.7").problem(429, "rate-limited").retryAfter()
	start("::ffff:203.0.113.7").problem(429, "rate-limited")
	// What stands before the proxy's own word is the client's invention.
	start("198.51.100.1, 203.0.113.7").problem(429, "rate-limited")
	require.Equal(t, 201, start("203.0.113.8").status)

	for range 2 {
		require.Equal(t, 201, start("2001:db8:1:2::1").status)
	}
	start("2001:db8:1:2:ffff::9").problem(429, "rate-limited") // one line has a whole /64
	require.Equal(t, 201, start("2001:db8:1:3::1").status)

	for range 5 {
		require.Equal(t, 201, s.do(http.MethodPost, "/api/v1/sessions", "").status, "loopback is exempt")
	}
	clock.advance(time.Second)
	require.Equal(t, 201, start("203.0.113.7").status)
}

// Without trusted proxies nobody's X-Forwarded-For counts.
func TestAnAddressCannotBeMadeUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.api.Sessions = api.Limit{PerSecond: 1, Burst: 1} })
	for i := range 5 {
		r := s.do(http.MethodPost, "/api/v1/sessions", "", "X-Forwarded-For", "203.0.113."+strconv.Itoa(i), "X-Forwarded-Proto", "https")
		require.Equal(t, 201, r.status)
		require.Equal(t, "aisle_session", cookieOf(t, r).Name)
	}
	for range 5 {
		r := s.do(http.MethodPost, "/api/v1/sessions", "", "X-Forwarded-For", "203.0.113.9")
		require.Equal(t, 201, r.status, "it is still loopback, which is exempt")
	}
}

// Whoever tries tokens is stopped before the database is asked about each.
func TestUnknownTokensOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.api.Sessions = api.Limit{PerSecond: 0.1, Burst: 3}
		set.api.TrustedProxies = localProxies()
	})
	me := s.customer()
	made := func(i int) string { return "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" + strconv.Itoa(i) + "A" }
	read := func(token, address string) reply {
		return s.do(http.MethodGet, "/api/v1/bookings", "", "Authorization", "Bearer "+token, "X-Forwarded-For", address)
	}
	for i := range 3 {
		read(made(i), "203.0.113.7").problem(401, "unauthenticated")
	}
	asked := s.pool.Stat().AcquireCount()
	for i := range 6 {
		read(made(i+4), "203.0.113.7").problem(429, "rate-limited").retryAfter()
	}
	require.Equal(t, asked, s.pool.Stat().AcquireCount())
	read(made(0), "203.0.113.7").problem(401, "unauthenticated") // known to be unknown: costs nothing
	require.Equal(t, 200, read(me.token, "203.0.113.7").status, "who is known goes on")
	read(made(9), "203.0.113.8").problem(401, "unauthenticated")

	// Ending, which looks further, is no way around it.
	end := func(token, address string) reply {
		return s.do(http.MethodDelete, "/api/v1/sessions/current", "", "Authorization", "Bearer "+token,
			"X-Forwarded-For", address, "Idempotency-Key", "k")
	}
	for range 2 {
		end(made(0), "203.0.113.9").problem(401, "unauthenticated")
	}
	end(made(0), "203.0.113.9").problem(429, "rate-limited").retryAfter()
	require.Equal(t, 204, end(me.token, "203.0.113.9").status)
}
