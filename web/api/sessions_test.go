package api_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func cookieOf(t *testing.T, r reply) *http.Cookie {
	t.Helper()
	cookies := (&http.Response{Header: r.header}).Cookies()
	require.Len(t, cookies, 1)
	return cookies[0]
}

func TestStartingASession(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	r := s.do(http.MethodPost, "/api/v1/sessions", "")
	require.Equal(t, http.StatusCreated, r.status)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.Equal(t, "no-store", r.header.Get("Cache-Control"))
	require.Len(t, r.body, 2)
	_, err := uuid.Parse(r.text("session"))
	require.NoError(t, err)
	require.Len(t, r.text("token"), 43)

	cookie := cookieOf(t, r)
	require.Equal(t, "aisle_session", cookie.Name)
	require.Equal(t, r.text("token"), cookie.Value)
	require.Equal(t, "/", cookie.Path)
	require.True(t, cookie.HttpOnly)
	require.False(t, cookie.Secure)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	require.Empty(t, cookie.Domain)
	require.Positive(t, cookie.MaxAge)
	require.NotContains(t, s.log.String(), r.text("token"), "no token in the log")
}

// Over TLS the cookie is bound to the host and never sent in the clear.
func TestTheCookieOverTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.api.PublicURL = "https://tickets.example.org" })
	r := s.do(http.MethodPost, "/api/v1/sessions", "")
	cookie := cookieOf(t, r)
	require.Equal(t, "__Host-aisle_session", cookie.Name)
	require.True(t, cookie.Secure)
	require.Equal(t, "/", cookie.Path)
	require.Empty(t, cookie.Domain)

	proxied := newSite(t, func(set *settings) { set.api.TrustedProxies = localProxies() })
	cookie = cookieOf(t, proxied.do(http.MethodPost, "/api/v1/sessions", "", "X-Forwarded-Proto", "https"))
	require.Equal(t, "__Host-aisle_session", cookie.Name)
	require.True(t, cookie.Secure)
	cookie = cookieOf(t, proxied.do(http.MethodPost, "/api/v1/sessions", "", "X-Forwarded-Proto", "https, http"))
	require.False(t, cookie.Secure, "the proxy next to us speaks last")

	token := r.text("token")
	require.Equal(t, http.StatusOK, s.do(http.MethodGet, "/api/v1/bookings", "", "Cookie", "__Host-aisle_session="+token).status)
	s.do(http.MethodGet, "/api/v1/bookings", "", "Cookie", "aisle_session="+token).problem(401, "unauthenticated")
}

func TestWhoHasASession(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	made := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for name, headers := range map[string][]string{
		"bearer":                    {"Authorization", "Bearer " + me.token},
		"bearer in another case":    {"Authorization", "bearer " + me.token},
		"cookie":                    {"Cookie", "aisle_session=" + me.token},
		"a right bearer rules":      {"Authorization", "Bearer " + me.token, "Cookie", "aisle_session=" + made},
		"other cookies beside mine": {"Cookie", "a=b; aisle_session=" + me.token + "; c=d"},
	} {
		r := s.do(http.MethodGet, "/api/v1/bookings", "", headers...)
		require.Equal(t, http.StatusOK, r.status, name)
		require.Equal(t, "no-store", r.header.Get("Cache-Control"), name)
	}
	for name, headers := range map[string][]string{
		"nothing":              {},
		"unknown bearer":       {"Authorization", "Bearer " + made},
		"unknown cookie":       {"Cookie", "aisle_session=" + made},
		"empty cookie":         {"Cookie", "aisle_session="},
		"nonsense":             {"Authorization", "Bearer x y z"},
		"another scheme":       {"Authorization", "Basic " + me.token},
		"no scheme":            {"Authorization", me.token},
		"two headers":          {"Authorization", "Bearer " + me.token, "Authorization", "Bearer " + me.token},
		"a wrong bearer rules": {"Authorization", "Bearer " + made, "Cookie", "aisle_session=" + me.token},
	} {
		r := s.do(http.MethodGet, "/api/v1/bookings", "", headers...)
		r.problem(401, "unauthenticated")
		require.Equal(t, `Bearer realm="aisle"`, r.header.Get("WWW-Authenticate"), name)
	}
	for _, path := range []string{"/bookings/" + uuid.NewString(), "/bookings"} {
		s.do(http.MethodGet, "/api/v1"+path, "").problem(401, "unauthenticated")
	}
	for _, call := range [][2]string{
		{"POST", s.bookingsPath()},
		{"POST", "/bookings/" + uuid.NewString() + "/seats"},
		{"DELETE", "/bookings/" + uuid.NewString() + "/seats/A1"},
		{"POST", "/bookings/" + uuid.NewString() + "/confirm"},
		{"DELETE", "/bookings/" + uuid.NewString()},
		{"DELETE", "/sessions/current"},
	} {
		s.do(call[0], "/api/v1"+call[1], "", "Idempotency-Key", "k").problem(401, "unauthenticated")
	}
}

func TestReadingShowingsNeedsNoSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, path := range []string{"", "/" + s.showings.open.String(), "/" + s.showings.open.String() + "/layout", "/" + s.showings.open.String() + "/seats"} {
		require.Equal(t, http.StatusOK, s.do(http.MethodGet, "/api/v1/showings"+path, "").status, path)
		require.Equal(t, http.StatusOK, s.do(http.MethodGet, "/api/v1/showings"+path, "", "Authorization", "Bearer nonsense").status, path)
	}
}

func TestEndingASession(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	me.do(http.MethodDelete, "/sessions/current", "", "Idempotency-Key", "").problem(422, "invalid-request").fault("header.Idempotency-Key")

	booked := "used for a booking"
	require.Equal(t, 201, me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Idempotency-Key", booked).status)
	me.do(http.MethodDelete, "/sessions/current", "", "Idempotency-Key", booked).problem(422, "idempotency-mismatch")

	for range 2 {
		r := me.do(http.MethodDelete, "/sessions/current", "", "Idempotency-Key", "bye")
		require.Equal(t, http.StatusNoContent, r.status, "%s", r.raw)
		require.Empty(t, r.raw)
		require.Negative(t, cookieOf(t, r).MaxAge)
	}
	me.do(http.MethodDelete, "/sessions/current", "", "Idempotency-Key", "again").problem(401, "unauthenticated")
	me.do(http.MethodGet, "/bookings", "").problem(401, "unauthenticated")
	s.do(http.MethodDelete, "/api/v1/sessions/current", "", "Idempotency-Key", "k").problem(401, "unauthenticated")
}

func TestSessionsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	s := newSite(t, func(set *settings) { set.postgres = stack.PostgresURL() })
	me := s.customer()
	require.NoError(t, stack.StopPostgres(t.Context()))
	me.do(http.MethodDelete, "/sessions/current", "").problem(503, "unavailable").retryAfter()
	s.do(http.MethodPost, "/api/v1/sessions", "").problem(503, "unavailable").retryAfter()
	s.do(http.MethodGet, "/api/v1/bookings", "", "Authorization", "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").
		problem(503, "unavailable").retryAfter()
}
