package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func ids(t *testing.T, r reply) []string {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, "%s", r.raw)
	list, ok := r.body["showings"].([]any)
	require.True(t, ok, "%s", r.raw)
	out := []string{}
	for _, item := range list {
		showing, ok := item.(map[string]any)
		require.True(t, ok)
		id, _ := showing["id"].(string)
		out = append(out, id)
	}
	return out
}

func TestTheProgramme(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.available = func(context.Context, uuid.UUID) (int, bool) { return 4, true }
	})
	r := s.do(http.MethodGet, "/api/v1/showings", "")
	require.Equal(t, []string{s.showings.open.String(), s.showings.scheduled.String(), s.showings.cancelled.String()}, ids(t, r),
		"from three hours ago on, by their start")
	require.Equal(t, "application/json", r.header.Get("Content-Type"))

	all := func(from, to string) []string {
		return ids(t, s.do(http.MethodGet, "/api/v1/showings?from="+url.QueryEscape(from)+"&to="+url.QueryEscape(to), ""))
	}
	now := time.Now().UTC()
	stamp := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	require.Equal(t, []string{s.showings.closed.String(), s.showings.open.String()}, all(stamp(-72*time.Hour), stamp(30*time.Hour)))
	require.Equal(t, []string{s.showings.scheduled.String()}, all(stamp(30*time.Hour), stamp(60*time.Hour)))
	require.Empty(t, all(stamp(1000*time.Hour), ""))
	require.Len(t, all("", ""), 3, "empty bounds are none")
	zone := now.Add(30 * time.Hour).In(time.FixedZone("", 2*60*60)).Format(time.RFC3339)
	require.Equal(t, []string{s.showings.scheduled.String(), s.showings.cancelled.String()}, all(zone, ""), "any offset")

	again := s.do(http.MethodGet, "/api/v1/showings", "", "If-None-Match", r.header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, again.status)
	require.Equal(t, string(r.raw), gunzip(t, s.do(http.MethodGet, "/api/v1/showings", "", "Accept-Encoding", "gzip")))

	s.do(http.MethodGet, "/api/v1/showings?from=tomorrow", "").problem(422, "invalid-request").fault("query.from")
	s.do(http.MethodGet, "/api/v1/showings?to=2026-13-01T00:00:00Z", "").problem(422, "invalid-request").fault("query.to")
	s.do(http.MethodGet, "/api/v1/showings?form=x", "").problem(422, "invalid-request").fault("query")
	s.do(http.MethodGet, "/api/v1/showings?from=%zz", "").problem(400, "malformed")
}

func TestAShowing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	r := s.do(http.MethodGet, "/api/v1/showings/"+s.showings.open.String(), "")
	require.Equal(t, http.StatusOK, r.status)
	showing, ok := s.catalogue.Showing(s.showings.open)
	require.True(t, ok)
	want := `{
		"id": "` + s.showings.open.String() + `",
		"film": {"title": "Eleven Ways to Leave a Harbour"},
		"auditorium": {"name": "Hall 1"},
		"cinema": "Rex",
		"starts_at": "` + showing.StartsAt.UTC().Format(time.RFC3339) + `",
		"time_zone": "Europe/Zurich",
		"sales": {"state": "open", "opens_at": "` + showing.OpensAt.UTC().Format(time.RFC3339) + `", "closes_at": "` +
		showing.ClosesAt.UTC().Format(time.RFC3339) + `"},
		"seats": {"total": 6, "available": 6}
	}`
	require.JSONEq(t, want, string(r.raw))
	require.Contains(t, want, `Z"`, "times are in UTC")

	for id, state := range map[uuid.UUID]string{
		s.showings.open: "open", s.showings.scheduled: "scheduled", s.showings.closed: "closed", s.showings.cancelled: "cancelled",
	} {
		r := s.do(http.MethodGet, "/api/v1/showings/"+id.String(), "")
		sales, _ := r.body["sales"].(map[string]any)
		require.Equal(t, state, sales["state"])
	}
	for _, id := range []string{uuid.NewString(), "x", "{" + s.showings.open.String() + "}", "urn:uuid:" + s.showings.open.String(), "%00"} {
		for _, of := range []string{"", "/layout", "/seats"} {
			s.do(http.MethodGet, "/api/v1/showings/"+id+of, "").problem(404, "not-found")
		}
	}
	require.Equal(t, 200, s.do(http.MethodGet, "/api/v1/showings/"+strings.ToUpper(s.showings.open.String()), "").status)
}

func TestSeatsLeftInTheProgramme(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.available = func(context.Context, uuid.UUID) (int, bool) { return 4, true }
	})
	r := s.do(http.MethodGet, "/api/v1/showings/"+s.showings.open.String(), "")
	require.Equal(t, map[string]any{"total": 6.0, "available": 4.0}, r.body["seats"])
}

func TestTheLayout(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	path := "/api/v1/showings/" + s.showings.open.String() + "/layout"
	r := s.do(http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.Equal(t, "public, max-age=86400", r.header.Get("Cache-Control"))
	require.Equal(t, s.showings.open.String(), r.text("showing"))
	layout, _ := s.catalogue.Layout(s.showings.open)
	category := layout.Categories[0].ID.String()
	seats, _ := r.body["seats"].([]any)
	require.Len(t, seats, 6)
	require.Equal(t, map[string]any{
		"seat": "A6", "row": "A", "number": "6", "x": 5.0, "y": 0.0, "category": category, "kind": "wheelchair",
	}, seats[5])
	require.Equal(t, []any{map[string]any{
		"id": category, "name": "Standard", "price": map[string]any{"amount": 1000.0, "currency": "EUR"},
	}}, r.body["categories"])

	again := s.do(http.MethodGet, path, "", "If-None-Match", r.header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, again.status)
	require.Empty(t, again.raw)
	require.Equal(t, r.header.Get("ETag"), again.header.Get("ETag"))
	zipped := s.do(http.MethodGet, path, "", "Accept-Encoding", "gzip")
	require.Equal(t, string(r.raw), gunzip(t, zipped))
}

func gunzip(t *testing.T, r reply) string {
	t.Helper()
	require.Equal(t, "gzip", r.header.Get("Content-Encoding"))
	require.Contains(t, strings.Join(r.header.Values("Vary"), ","), "Accept-Encoding")
	reader, err := gzip.NewReader(bytes.NewReader(r.raw))
	require.NoError(t, err)
	plain, err := io.ReadAll(reader)
	require.NoError(t, err)
	return string(plain)
}

func TestTheSeatMap(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	path := "/api/v1/showings/" + s.showings.open.String() + "/seats"
	r := s.do(http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, r.status, "%s", r.raw)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.Equal(t, "no-cache", r.header.Get("Cache-Control"))
	require.Len(t, r.body, 5)
	require.Equal(t, s.showings.open.String(), r.text("showing"))
	require.EqualValues(t, 1, r.number("seq"))
	require.Equal(t, false, r.body["stale"])
	require.Equal(t, map[string]any{
		"A1": "available", "A2": "available", "A3": "available", "A4": "available", "A5": "available", "A6": "available",
	}, r.body["seats"])
	log := r.text("log")
	require.Equal(t, `"`+log+`-1"`, r.header.Get("ETag"))

	for _, tag := range []string{r.header.Get("ETag"), `"x", ` + r.header.Get("ETag"), "W/" + r.header.Get("ETag"), "*"} {
		again := s.do(http.MethodGet, path, "", "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, again.status, tag)
		require.Empty(t, again.raw)
		require.Equal(t, r.header.Get("ETag"), again.header.Get("ETag"))
	}
	require.Equal(t, string(r.raw), gunzip(t, s.do(http.MethodGet, path, "", "Accept-Encoding", "br, gzip;q=0.8")))
	require.Empty(t, s.do(http.MethodGet, path, "", "Accept-Encoding", "gzip;q=0").header.Get("Content-Encoding"))

	me := s.customer()
	first := me.hold("A1", "A2")
	require.Equal(t, 200, me.do(http.MethodPost, "/bookings/"+first+"/confirm", "").status)
	me.hold("A3")
	require.Eventually(t, func() bool {
		now := s.do(http.MethodGet, path, "", "If-None-Match", r.header.Get("ETag"))
		return now.status == http.StatusOK && now.number("seq") == 9
	}, time.Minute, 20*time.Millisecond)
	now := s.do(http.MethodGet, path, "")
	require.Equal(t, map[string]any{
		"A1": "sold", "A2": "sold", "A3": "held", "A4": "available", "A5": "available", "A6": "available",
	}, now.body["seats"])
	require.Equal(t, `"`+log+`-9"`, now.header.Get("ETag"))

	head := s.do(http.MethodHead, path, "")
	require.Equal(t, http.StatusOK, head.status)
	require.Empty(t, head.raw)
	require.Equal(t, now.header.Get("ETag"), head.header.Get("ETag"))
}

// While PostgreSQL is gone the map is still shown, marked stale; selling says unavailable; once it is back all is well.
func TestWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	s := newSite(t, func(set *settings) { set.postgres, set.stale = stack.PostgresURL(), 300*time.Millisecond })
	path := "/api/v1/showings/" + s.showings.open.String() + "/seats"
	me := s.customer()
	id := me.hold("A1")
	var before reply
	require.Eventually(t, func() bool {
		before = s.do(http.MethodGet, path, "")
		return before.status == 200 && before.number("seq") == 3
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, stack.StopPostgres(t.Context()))

	var stale reply
	require.Eventually(t, func() bool {
		stale = s.do(http.MethodGet, path, "", "If-None-Match", before.header.Get("ETag"))
		return stale.status == http.StatusOK && stale.body["stale"] == true
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, strings.TrimSuffix(before.header.Get("ETag"), `"`)+`-stale"`, stale.header.Get("ETag"))
	require.Equal(t, before.body["seats"], stale.body["seats"])
	require.Equal(t, 304, s.do(http.MethodGet, path, "", "If-None-Match", stale.header.Get("ETag")).status)

	// The session is known from before; the log can't be reached.
	me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A2")).problem(503, "unavailable").retryAfter()
	me.do(http.MethodGet, "/bookings", "").problem(503, "unavailable").retryAfter()
	require.Equal(t, 200, s.do(http.MethodGet, "/api/v1/showings", "").status)
	require.NotContains(t, strings.ToLower(string(stale.raw)), "postgres")

	require.NoError(t, stack.StartPostgres(t.Context()))
	require.Eventually(t, func() bool {
		r := s.do(http.MethodGet, path, "")
		return r.status == 200 && r.body["stale"] == false
	}, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		r := me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A2"), "Idempotency-Key", "after")
		return r.status == 200
	}, time.Minute, 50*time.Millisecond)
}

func TestAMapThatWasNeverHere(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	s := newSite(t, func(set *settings) { set.postgres, set.stale = stack.PostgresURL(), 300*time.Millisecond })
	require.NoError(t, stack.StopPostgres(t.Context()))
	s.do(http.MethodGet, "/api/v1/showings/"+s.showings.open.String()+"/seats", "").problem(503, "unavailable").retryAfter()
}
