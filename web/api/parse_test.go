package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWithoutProxiesThePeerIsTheClient(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "[::ffff:192.0.2.1]:99"
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	var found netip.Addr
	proxies(nil).middleware()(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		found = middleware.GetClientIPAddr(r.Context())
	})).ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, netip.MustParseAddr("192.0.2.1"), found)
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip": true, "deflate": false, "*": true, "gzip;q=0": false, "gzip; q=0.0": false,
		"gzip;q=0.5": true, "*;q=0": false, "gzip;q=x": false, "x-gzip": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept-Encoding", header)
		require.Equal(t, want, acceptsGzip(r), header)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, `"a"`: true, `W/"a"`: true, `"b", "a"`: true, `"b"`: false, "*": true, "a": false, `"a-stale"`: false,
	} {
		require.Equal(t, want, matches(header, `"a"`), header)
	}
}

func TestCanonicalPath(t *testing.T) {
	t.Parallel()
	const id = "0190D3C1-ABCD-7000-8000-00000000000F"
	require.Equal(t, "/api/v1/bookings/"+strings.ToLower(id)+"/seats/F7", canonicalPath("/api/v1/bookings/"+id+"/seats/F7"))
	require.Equal(t, "/api/v1/bookings/x", canonicalPath("/api/v1/bookings/x"))
}

func TestLines(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		require.Equal(t, want, line(netip.MustParseAddr(address)))
	}
	require.False(t, limitable(netip.Addr{}))
	require.False(t, limitable(netip.MustParseAddr("::1")))
	require.False(t, limitable(netip.MustParseAddr("127.8.8.8")))
}

// However requests come, no key gets more than its burst and its rate, and none less than its rate allows.
func TestALimiterGivesWhatItPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{PerSecond: float64(rapid.IntRange(1, 50).Draw(t, "rate")), Burst: rapid.IntRange(1, 20).Draw(t, "burst")}
		now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
		begin := now
		l, err := newLimiter(limit, func() time.Time { return now })
		require.NoError(t, err)
		passed := 0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "pause")) * time.Millisecond)
			wait := l.take("k")
			if wait > 0 {
				require.Equal(t, wait > 0, l.empty("k") > 0)
				now = now.Add(wait + time.Microsecond) // rounding
				require.Zero(t, l.take("k"), "who waits as told gets through")
			}
			passed++
			require.LessOrEqual(t, float64(passed), float64(limit.Burst)+now.Sub(begin).Seconds()*limit.PerSecond+0.01)
		}
		require.Zero(t, l.take("other"))
	})
	off, err := newLimiter(Limit{}, time.Now)
	require.NoError(t, err)
	require.Zero(t, off.take("k"))
	require.Zero(t, off.empty("k"))
}
