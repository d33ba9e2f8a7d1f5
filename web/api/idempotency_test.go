package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestTheKeyIsNeeded(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	id := me.hold("A1")
	calls := [][3]string{
		{"POST", s.bookingsPath(), wanted("A2")},
		{"POST", "/bookings/" + id + "/seats", wanted("A2")},
		{"DELETE", "/bookings/" + id + "/seats/A1", ""},
		{"POST", "/bookings/" + id + "/confirm", ""},
		{"DELETE", "/bookings/" + id, ""},
		{"DELETE", "/sessions/current", ""},
	}
	for _, call := range calls {
		headers := []string{"Authorization", "Bearer " + me.token, "Content-Type", "application/json"}
		path := "/api/v1" + call[1]
		s.do(call[0], path, call[2], headers...).problem(422, "invalid-request").fault("header.Idempotency-Key")
		for _, key := range []string{"", strings.Repeat("k", 256), "tab\there", "bad\xff", "\u200b", "zero\u200bwidth"} {
			s.do(call[0], path, call[2], append(headers, "Idempotency-Key", key)...).
				problem(422, "invalid-request").fault("header.Idempotency-Key")
		}
		s.do(call[0], path, call[2], append(headers, "Idempotency-Key", "a", "Idempotency-Key", "b")...).
			problem(422, "invalid-request").fault("header.Idempotency-Key")
	}
	require.Equal(t, "held", me.do(http.MethodGet, "/bookings/"+id, "").text("state"))
	for _, key := range []string{"1", strings.Repeat("k", 255), "with spaces, commas; and ~!", "ключ"} {
		r := me.do(http.MethodDelete, "/bookings/"+uuid.NewString(), "", "Idempotency-Key", key)
		r.problem(404, "not-found")
	}
	require.Equal(t, 200, me.do("POST", "/bookings/"+id+"/confirm", "", "Idempotency-Key", strings.Repeat("k", 255)).status)
}

func TestARepeatedCommandDoesNothingMore(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	hold := func() reply {
		return me.do(http.MethodPost, s.bookingsPath(), wanted("A1", "A2"), "Idempotency-Key", "hold")
	}
	first := hold()
	require.Equal(t, 201, first.status)
	same := func(r reply, want reply) {
		t.Helper()
		require.Equal(t, want.status, r.status, "%s", r.raw)
		for _, member := range []string{"id", "state", "seats", "seq", "total", "expires_at"} {
			require.Equal(t, want.body[member], r.body[member], member)
		}
	}
	same(hold(), first)
	id := first.text("id")
	add := func() reply {
		return me.do(http.MethodPost, "/bookings/"+id+"/seats", wanted("A3"), "Idempotency-Key", "add")
	}
	added := add()
	require.Equal(t, 200, added.status)
	same(add(), added)
	give := func() reply {
		return me.do(http.MethodDelete, "/bookings/"+id+"/seats/A1", "", "Idempotency-Key", "give")
	}
	given := give()
	require.Equal(t, 200, given.status)
	same(give(), given)
	confirm := func() reply {
		return me.do(http.MethodPost, "/bookings/"+id+"/confirm", "", "Idempotency-Key", "confirm")
	}
	confirmed := confirm()
	require.Equal(t, 200, confirmed.status)
	same(confirm(), confirmed)
	same(hold(), first) // the booking as of that command, though it is confirmed by now
	same(add(), added)

	other := me.hold("A4")
	for range 2 {
		r := me.do(http.MethodDelete, "/bookings/"+other, "", "Idempotency-Key", "release")
		require.Equal(t, 204, r.status)
		require.Empty(t, r.raw)
	}
	var head int64
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT max(seq) FROM events WHERE stream = $1`, s.showings.open).Scan(&head))
	require.EqualValues(t, 15, head, "1 opened, 3 held, 2 added, 2 given back, 3 confirmed, 2 held, 2 released")
}

func TestAKeyIsForOneCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	r := me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Idempotency-Key", "k")
	require.Equal(t, 201, r.status)
	id := r.text("id")
	for name, call := range map[string][3]string{
		"another body":     {"POST", s.bookingsPath(), wanted("A2")},
		"more seats":       {"POST", s.bookingsPath(), wanted("A1", "A2")},
		"another showing":  {"POST", "/showings/" + s.showings.scheduled.String() + "/bookings", wanted("A1")},
		"another route":    {"POST", "/bookings/" + id + "/seats", wanted("A1")},
		"without a body":   {"POST", "/bookings/" + id + "/confirm", ""},
		"another method":   {"DELETE", "/bookings/" + id, ""},
		"end of session":   {"DELETE", "/sessions/current", ""},
		"a seat goes back": {"DELETE", "/bookings/" + id + "/seats/A1", ""},
	} {
		r := me.do(call[0], call[1], call[2], "Idempotency-Key", "k")
		require.Equal(t, 422, r.status, "%s: %s", name, r.raw)
		r.problem(422, "idempotency-mismatch")
	}
	// What means the same is the same.
	for _, body := range []string{` {"seats" : [ "A1" ] } `, `{"seats":["\u00411"]}`} {
		r := me.do(http.MethodPost, strings.ToLower(s.bookingsPath()), body, "Idempotency-Key", "k")
		require.Equal(t, 201, r.status, "%s", r.raw)
		require.Equal(t, id, r.text("id"))
	}
	upper := "/showings/" + strings.ToUpper(s.showings.open.String()) + "/bookings"
	require.Equal(t, 201, me.do(http.MethodPost, upper, wanted("A1"), "Idempotency-Key", "k").status)
	// Another session's key is another key.
	require.Equal(t, 201, s.customer().do(http.MethodPost, s.bookingsPath(), wanted("A2"), "Idempotency-Key", "k").status)
}

func TestWhatWasRefusedIsJudgedAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me, other := s.customer(), s.customer()
	theirs := other.hold("A1")
	me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Idempotency-Key", "k").problem(409, "seats-unavailable")
	require.Equal(t, 204, other.do(http.MethodDelete, "/bookings/"+theirs, "").status)
	require.Equal(t, 201, me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Idempotency-Key", "k").status)
}

func TestTheSameRequestManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	var wg sync.WaitGroup
	replies := make([]reply, 20)
	for i := range replies {
		wg.Go(func() {
			replies[i] = me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Idempotency-Key", "k")
		})
	}
	wg.Wait()
	for _, r := range replies {
		require.Equal(t, 201, r.status, "%s", r.raw)
		require.Equal(t, replies[0].text("id"), r.text("id"))
	}
}
