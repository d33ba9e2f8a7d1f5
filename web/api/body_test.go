package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	for name, body := range map[string]string{
		"nothing":             "",
		"no JSON":             "seats=A1",
		"cut off":             `{"seats":["A1"]`,
		"two values":          `{"seats":["A1"]} {}`,
		"null":                `null`,
		"a list":              `["A1"]`,
		"text":                `"A1"`,
		"seats is text":       `{"seats":"A1"}`,
		"seats is null":       `{"seats":null}`,
		"seats is an object":  `{"seats":{"A1":true}}`,
		"a seat is a number":  `{"seats":["A1",2]}`,
		"a seat is null":      `{"seats":[null]}`,
		"seats comes twice":   `{"seats":["A1"],"seats":["A2"]}`,
		"not UTF-8":           "{\"seats\":[\"\xff\"]}",
		"deeply nested":       `{"seats":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"a comment":           `{"seats":["A1"]} // please`,
		"a hidden second one": `{"seats":["A1"],"\u0073eats":["A2"]}`,
	} {
		r := me.do(http.MethodPost, s.bookingsPath(), body, "Content-Type", "application/json")
		require.Equal(t, 400, r.status, "%s: %s", name, r.raw)
		r.problem(400, "malformed")
	}
	for name, body := range map[string]string{
		"no seats":          `{}`,
		"empty":             `{"seats":[]}`,
		"one twice":         `{"seats":["A1","A1"]}`,
		"an unknown field":  `{"seats":["A1"],"price":1}`,
		"in another case":   `{"Seats":["A1"]}`,
		"and a second case": `{"seats":["A1"],"SEATS":["A2"]}`,
		"folding letters":   `{"ſeats":["A1"]}`,
		"more than fits":    wanted(make([]string, 1001)...),
	} {
		r := me.do(http.MethodPost, s.bookingsPath(), body)
		require.Equal(t, 422, r.status, "%s: %s", name, r.raw)
		r.problem(422, "invalid-request")
		require.NotEmpty(t, r.body["errors"], name)
	}
	for _, kind := range []string{"", "text/plain", "application/xml", "application/json-patch+json", "multipart/form-data", "x"} {
		me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Content-Type", kind).problem(400, "malformed")
	}
	require.Equal(t, 201, me.do(http.MethodPost, s.bookingsPath(), wanted("A1"), "Content-Type", "Application/JSON; charset=utf-8").status)
	require.Len(t, me.do(http.MethodGet, "/bookings", "").body["bookings"], 1, "what was refused did nothing")
}

func TestCommandsWithoutABody(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	id := me.hold("A1")
	for _, body := range []string{`{"seats":["A1"]}`, `null`, `x`} {
		me.do(http.MethodPost, "/bookings/"+id+"/confirm", body).problem(422, "invalid-request").fault("body")
		s.do(http.MethodPost, "/api/v1/sessions", body).problem(422, "invalid-request").fault("body")
	}
	require.Equal(t, 201, s.do(http.MethodPost, "/api/v1/sessions", "{}").status)
	require.Equal(t, 200, me.do(http.MethodPost, "/bookings/"+id+"/confirm", " {} ").status)
}

func TestBodiesOver64KiB(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	me := s.customer()
	id := me.hold("A1")
	fits := `{"seats":["A2"` + strings.Repeat(" ", 64<<10-16) + `]}`
	require.Len(t, fits, 64<<10)
	require.Equal(t, 200, me.do(http.MethodPost, "/bookings/"+id+"/seats", fits).status)
	over := fits + " "
	for _, path := range []string{s.bookingsPath(), "/bookings/" + id + "/seats", "/bookings/" + id + "/confirm", "/sessions"} {
		me.do(http.MethodPost, path, over).problem(413, "too-large")
	}
	// Nobody says how long this one is.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/api/v1"+s.bookingsPath(),
		struct{ *strings.Reader }{strings.NewReader(over)})
	require.NoError(t, err)
	r.ContentLength = -1
	r.Header.Set("Authorization", "Bearer "+me.token)
	r.Header.Set("Idempotency-Key", uuid.NewString())
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.server.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, 413, answer.StatusCode)
	require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
}
