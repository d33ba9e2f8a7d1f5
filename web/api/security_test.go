package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/web/api"
)

func TestHeadersThatKeepBrowsersCareful(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.ui = testUI() })
	for _, path := range []string{"/", "/showings/1", "/api/v1/showings", "/api/v1/nothing", "/api/docs", "/problems/not-found", "/assets/none.js"} {
		h := s.do(http.MethodGet, path, "").header
		policy := h.Get("Content-Security-Policy")
		for _, rule := range []string{
			"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'self'", "img-src 'self' data:", "font-src 'self'",
		} {
			require.Contains(t, "; "+policy+";", "; "+rule+";", path)
		}
		require.NotContains(t, policy, "unsafe-eval")
		if path != "/api/docs" {
			require.NotContains(t, policy, "unsafe-inline", path)
		}
		require.NotRegexp(t, `script-src [^;]*unsafe`, policy, path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "DENY", h.Get("X-Frame-Options"), path)
		require.Equal(t, "same-origin", h.Get("Referrer-Policy"), path)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), path)
		require.NotEmpty(t, h.Get("Permissions-Policy"), path)
		require.Empty(t, h.Get("Strict-Transport-Security"), "not over http")
	}
	secure := newSite(t, func(set *settings) { set.api.PublicURL = "https://tickets.example.org/" })
	h := secure.do(http.MethodGet, "/api/v1/showings", "").header
	require.Equal(t, "max-age=31536000; includeSubDomains", h.Get("Strict-Transport-Security"))
	require.Contains(t, h.Get("Content-Security-Policy"), "connect-src 'self' wss://tickets.example.org;")
}

// A page of another site can't act with a customer's cookie; one that was allowed can; a token needs no such care.
func TestPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.api.PublicURL = "http://tickets.example.org"
		set.api.AllowedOrigins = []string{"https://www.example.org"}
	})
	me := s.customer()
	cookie := func(headers ...string) reply {
		return s.do(http.MethodPost, "/api/v1/bookings/"+uuid.NewString()+"/confirm", "",
			append(headers, "Cookie", "aisle_session="+me.token, "Idempotency-Key", uuid.NewString())...)
	}
	for _, headers := range [][]string{
		{}, // no browser
		{"Sec-Fetch-Site", "same-origin"},
		{"Origin", "http://tickets.example.org"},
		{"Origin", "http://tickets.example.org", "Sec-Fetch-Site", "cross-site"}, // a proxy changed the host
		{"Origin", "https://www.example.org", "Sec-Fetch-Site", "same-site"},
	} {
		cookie(headers...).problem(404, "not-found")
	}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site", "Origin", "http://evil.example.org"},
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
		{"Origin", "http://tickets.example.org.evil.example"},
	} {
		cookie(headers...).problem(403, "cross-origin")
		all := append([]string{"Cookie", "aisle_session=" + me.token, "Idempotency-Key", "k"}, headers...)
		s.do(http.MethodDelete, "/api/v1/sessions/current", "", all...).problem(403, "cross-origin")
		s.do(http.MethodPost, "/api/v1/sessions", "", headers...).problem(403, "cross-origin")
		me.do(http.MethodPost, "/bookings/"+uuid.NewString()+"/confirm", "", headers...).problem(404, "not-found")
		require.Equal(t, 200, s.do(http.MethodGet, "/api/v1/bookings", "", append(headers, "Cookie", "aisle_session="+me.token)...).status,
			"reading is safe: the page can't see the answer")
	}
}

func TestAllowedOriginsMayReadAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.api.PublicURL = "https://tickets.example.org"
		set.api.AllowedOrigins = []string{"https://www.example.org"}
	})
	ask := func(origin string) http.Header {
		return s.do(http.MethodOptions, "/api/v1/bookings", "", "Origin", origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "idempotency-key").header
	}
	h := ask("https://www.example.org")
	require.Equal(t, "https://www.example.org", h.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", h.Get("Access-Control-Allow-Credentials"))
	require.Contains(t, h.Get("Access-Control-Allow-Headers"), "Idempotency-Key")
	require.Contains(t, h.Get("Access-Control-Allow-Methods"), "DELETE")
	require.Contains(t, h.Values("Vary"), "Origin")
	for _, origin := range []string{"https://evil.example", "null", "https://tickets.example.org", "http://www.example.org"} {
		require.Empty(t, ask(origin).Get("Access-Control-Allow-Origin"), origin)
		require.Empty(t, s.do(http.MethodGet, "/api/v1/showings", "", "Origin", origin).header.Get("Access-Control-Allow-Origin"), origin)
	}
	h = s.do(http.MethodGet, "/api/v1/showings", "", "Origin", "https://www.example.org").header
	require.Equal(t, "https://www.example.org", h.Get("Access-Control-Allow-Origin"))
	require.Contains(t, h.Get("Access-Control-Expose-Headers"), "Retry-After")
}

func TestRequestIDsAndTheAccessLog(t *testing.T) {
	t.Parallel()
	type seen struct {
		route, method string
		status        int
	}
	observed := make(chan seen, 100)
	s := newSite(t, func(set *settings) {
		set.observe = func(route, method string, status int, took time.Duration) {
			if took > 0 {
				observed <- seen{route, method, status}
			}
		}
	})
	r := s.do(http.MethodGet, "/api/v1/showings/"+s.showings.open.String(), "", "X-Request-Id", "abc-123_X.y", "X-Forwarded-For", "203.0.113.99")
	require.Equal(t, "abc-123_X.y", r.header.Get("X-Request-Id"))
	require.Equal(t, seen{"/api/v1/showings/{id}", "GET", 200}, <-observed)
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "abc-123_X.y") }, time.Minute, 10*time.Millisecond)
	log := s.log.String()
	require.Contains(t, log, `"route":"/api/v1/showings/{id}"`)
	require.Contains(t, log, `"status":200`)
	require.NotContains(t, log, "203.0.113.99")
	require.NotContains(t, log, "127.0.0.1")

	for _, id := range []string{"", strings.Repeat("x", 65), "a b", "a\"b", "<script>", "é"} {
		r := s.do(http.MethodGet, "/api/v1/nothing", "", "X-Request-Id", id)
		_, err := uuid.Parse(r.header.Get("X-Request-Id"))
		require.NoError(t, err, "%q is not taken", id)
		<-observed
	}
}

func TestWhatNoRouteHas(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, path := range []string{"/api/v1/nothing", "/api/v2/showings", "/api/", "/api/v1", "/nothing.js", "/"} {
		s.do(http.MethodGet, path, "").problem(404, "not-found")
	}
	for call, allow := range map[[2]string]string{
		{"PUT", "/api/v1/sessions"}:                                     "POST",
		{"GET", "/api/v1/sessions/current"}:                             "DELETE",
		{"PATCH", "/api/v1/bookings/" + uuid.NewString()}:               "GET, DELETE",
		{"POST", "/api/v1/showings"}:                                    "GET",
		{"DELETE", "/problems/not-found"}:                               "GET",
		{"GET", "/api/v1/bookings/" + uuid.NewString() + "/seats/A%2f"}: "DELETE",
	} {
		r := s.do(call[0], call[1], "").problem(405, "method-not-allowed")
		require.Equal(t, allow, r.header.Get("Allow"), call)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, cfg := range []api.Config{
		{PublicURL: "tickets.example.org"},
		{PublicURL: "ftp://x"},
		{PublicURL: "https://x/path"},
		{AllowedOrigins: []string{"*"}},
		{AllowedOrigins: []string{"https://u:p@x"}},
		{Commands: api.Limit{PerSecond: -1}},
		{Sessions: api.Limit{PerSecond: 1}},
		{RequestTimeout: -1},
	} {
		_, err := api.New(cfg, api.Deps{})
		require.Error(t, err, "%+v", cfg)
	}
}
