package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/web/auth"
)

// Whatever is sent as a body, it is refused or means one thing only.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"seats":["A1"]}`, `{"a":1,"a":2}`, `[{"a":{"b":[]}}]`, `null`, `"x"`, `{"a":`, `{} {}`, "\xff", `{"\u0061":1,"a":2}`,
		`{"\ud800":1,"\udc00":2}`, `1e999`, `-0`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, err := parseJSON(raw)
		if err != nil {
			return
		}
		require.True(t, json.Valid(raw))
		canonical, err := json.Marshal(value)
		require.NoError(t, err)
		again, err := parseJSON(canonical)
		require.NoError(t, err)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, canonical, twice)
	})
}

func FuzzValidKey(f *testing.F) {
	for _, seed := range []string{"", "k", " ", "a b", "\x00", "é", "\u202e", strings.Repeat("é", 256)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if !validKey(key) {
			return
		}
		require.True(t, utf8.ValidString(key))
		require.LessOrEqual(t, utf8.RuneCountInString(key), 255)
		require.NotEmpty(t, strings.TrimSpace(key))
		for _, r := range key {
			require.True(t, unicode.IsPrint(r))
		}
	})
}

// What a client may write into our log is short and harmless.
func FuzzValidRequestID(f *testing.F) {
	for _, seed := range []string{"", "a-B_c.9", "a b", "a\nb", "\x1b[31m", "é", strings.Repeat("a", 65)} {
		f.Add(seed)
	}
	harmless := regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`)
	f.Fuzz(func(t *testing.T, id string) {
		require.Equal(t, harmless.MatchString(id) && !strings.HasSuffix(id, "\n"), validRequestID(id))
	})
}

// An id in a path has one form, in either case; what is none stays as it is.
func FuzzCanonicalPath(f *testing.F) {
	const id = "0190d3c1-abcd-7000-8000-00000000000f"
	for _, seed := range []string{"", "/", "/api/v1/bookings/" + id, "/" + strings.ToUpper(id) + "/", "/{" + id + "}", "/urn:uuid:" + id, "/" + strings.ReplaceAll(id, "-", "") + "//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		canonical := canonicalPath(path)
		require.Equal(t, canonical, canonicalPath(canonical))
		require.True(t, strings.EqualFold(path, canonical))
		for part := range strings.SplitSeq(path, "/") {
			if id, ok := parseID(part); ok {
				require.Equal(t, strings.ToLower(part), id.String())
				require.Contains(t, canonical, id.String())
			}
		}
	})
}

// A condition is met by the tag itself, alone or in a list, and by nothing that lacks it; what a client accepts never
// breaks the answer.
func FuzzConditions(f *testing.F) {
	for _, seed := range []string{"", "*", `"k3f9-41"`, `W/"k3f9-41"`, `"a", "k3f9-41"`, `"k3f9-41-stale"`, "k3f9-41", "gzip;q=0.5", "gzip;q=NaN", "*;q=-0"} {
		f.Add(seed)
	}
	const tag = `"k3f9-41"`
	f.Fuzz(func(t *testing.T, header string) {
		if matches(header, tag) {
			require.True(t, strings.TrimSpace(header) == "*" || strings.Contains(header, tag))
		}
		require.True(t, matches(tag+", "+header, tag))
		require.True(t, matches(header+", W/"+tag, tag))
		r := &http.Request{Header: http.Header{"Accept-Encoding": {header}}}
		if acceptsGzip(r) {
			require.True(t, strings.Contains(strings.ToLower(header), "gzip") || strings.Contains(header, "*"))
		}
	})
}

// A client that isn't a trusted proxy can't choose its address or its scheme, whatever it sends; and
// through a proxy it can't choose the proxy's own word.
func FuzzForwarded(f *testing.F) {
	f.Add("203.0.113.7", "https", "for=1.2.3.4")
	f.Add("1.2.3.4, 10.0.0.1", "http, https", "")
	f.Add("::ffff:10.0.0.1", "", "proto=https")
	f.Add("junk,,,", "HTTPS", "\"")
	trusted := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	client := func(peer, forwardedFor, proto, forwarded string) (netip.Addr, bool) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = peer
		r.Header["X-Forwarded-For"] = []string{forwardedFor}
		r.Header["X-Forwarded-Proto"] = []string{proto}
		r.Header["Forwarded"] = []string{forwarded}
		var address netip.Addr
		var https bool
		trusted.middleware()(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			address, https = trusted.client(r)
		})).ServeHTTP(httptest.NewRecorder(), r)
		return address, https
	}
	f.Fuzz(func(t *testing.T, forwardedFor, proto, forwarded string) {
		address, https := client("198.51.100.4:1234", forwardedFor, proto, forwarded)
		require.Equal(t, netip.MustParseAddr("198.51.100.4"), address)
		require.False(t, https)

		address, https = client("10.0.0.1:1234", forwardedFor+", 203.0.113.9", proto+",http", forwarded)
		require.Equal(t, netip.MustParseAddr("203.0.113.9"), address)
		require.False(t, https)
		_, https = client("[fd00::1]:1234", forwardedFor, proto+", https", forwarded)
		require.True(t, https)
	})
}

// A page of another site is never taken for one of ours, however it spells its Origin.
func FuzzOrigins(f *testing.F) {
	for _, seed := range []string{
		"https://tickets.example", "HTTPS://Tickets.Example", "https://www.example", "null", "", "https://tickets.example:443", "https://tickets.example.evil.example",
		"https://user@tickets.example", "https://tickets.example/", "https://tickets.example#", "http://tickets.example", "https://tickets.example\\@evil.example",
	} {
		f.Add(seed)
	}
	fixed, err := NewOrigins(Config{PublicURL: "https://tickets.example", AllowedOrigins: []string{"https://www.example"}})
	require.NoError(f, err)
	open, err := NewOrigins(Config{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, origin string) {
		lower := strings.ToLower(origin)
		post := func() *http.Request {
			r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
			r.Host = "tickets.example"
			r.Header["Origin"] = []string{origin}
			return r
		}
		require.Equal(t, lower == "https://tickets.example" || lower == "https://www.example", fixed.Allowed(post()))
		if foreign, ok := fixed.foreign(post()); ok {
			require.Equal(t, "https://www.example", strings.ToLower(foreign))
		}
		if open.Allowed(post()) {
			u, err := url.Parse(origin)
			require.NoError(t, err)
			require.True(t, strings.EqualFold(u.Host, "tickets.example"), "%q", origin)
		}
		if origin != "" && fixed.check(post()) == nil {
			u, err := url.Parse(origin)
			require.NoError(t, err)
			require.True(t, strings.EqualFold(origin, "https://www.example") || strings.EqualFold(u.Host, "tickets.example"), "%q", origin)
		}
	})
}

// The world that FuzzRequest's requests find: one session, one showing, one booking.
const (
	fuzzToken   = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	fuzzSession = "0190d3c1-abcd-7000-8000-000000000001"
	fuzzShowing = "0190d3c1-abcd-7000-8000-000000000002"
	fuzzBooking = "0190d3c1-abcd-7000-8000-000000000003"
)

// reached is the command that a request led to.
type reached struct {
	command booking.Command
	seats   []booking.Seat
}

// rooms stand below the edge, in memory: they note which command reached them, and answer it with each of the domain's
// outcomes, by its key.
type rooms struct{ last *reached }

func (r *rooms) answer(c booking.Command, seats ...booking.Seat) (booking.Booking, error) {
	r.last = &reached{command: c, seats: seats}
	at := time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC)
	held := booking.Booking{
		ID: uuid.MustParse(fuzzBooking), Showing: uuid.MustParse(fuzzShowing), Session: c.Session, State: booking.StateHeld,
		Seats: seats, ExpiresAt: at, Now: at, Seq: 7, Total: booking.Money{Amount: 1250, Currency: "EUR"},
	}
	outcomes := []error{
		nil, booking.ErrNotFound, booking.ErrHoldExpired, booking.ErrRequestInFlight, booking.ErrKeyMismatch, booking.ErrAddressLimit,
		fmt.Errorf("%w: pgx: connection refused", booking.ErrUnavailable), fmt.Errorf("%w: eventstore: lost", booking.ErrOutcomeUnknown),
		context.DeadlineExceeded, &booking.SeatsUnavailableError{Seats: []booking.SeatProblem{{Seat: "A1", Status: booking.Sold}}},
		&booking.NotHeldError{State: booking.StateReleased}, &booking.ExistsError{Booking: held}, &booking.SalesClosedError{OpensAt: at, ClosesAt: at},
		&booking.UnknownSeatsError{Seats: seats}, &booking.TooManySeatsError{Limit: 10}, &booking.InvalidError{Reason: "no seats"},
	}
	return held, outcomes[len(c.Key)%len(outcomes)]
}

func (r *rooms) Hold(_ context.Context, c booking.Command, _ uuid.UUID, seats []booking.Seat) (booking.Booking, error) {
	return r.answer(c, seats...)
}

func (r *rooms) AddSeats(_ context.Context, c booking.Command, _ uuid.UUID, seats []booking.Seat) (booking.Booking, error) {
	return r.answer(c, seats...)
}

func (r *rooms) GiveBack(_ context.Context, c booking.Command, _ uuid.UUID, seat booking.Seat) (booking.Booking, error) {
	return r.answer(c, seat)
}

func (r *rooms) Confirm(_ context.Context, c booking.Command, _ uuid.UUID) (booking.Booking, error) {
	return r.answer(c)
}

func (r *rooms) Release(_ context.Context, c booking.Command, _ uuid.UUID) (booking.Booking, error) {
	return r.answer(c)
}

func (*rooms) Booking(_ context.Context, session, id uuid.UUID) (booking.Booking, error) {
	if session.String() != fuzzSession || id.String() != fuzzBooking {
		return booking.Booking{}, booking.ErrNotFound
	}
	return booking.Booking{ID: id, Session: session, State: booking.StateConfirmed}, nil
}

func (*rooms) Bookings(context.Context, uuid.UUID) ([]booking.Booking, error) { return nil, nil }

func (*rooms) List(_, _ time.Time) []catalogue.Showing {
	return []catalogue.Showing{{ID: uuid.MustParse(fuzzShowing)}}
}

func (*rooms) Showing(id uuid.UUID) (catalogue.Showing, bool) {
	return catalogue.Showing{ID: id}, id.String() == fuzzShowing
}

func (*rooms) Layout(id uuid.UUID) (catalogue.Layout, bool) {
	return catalogue.Layout{}, id.String() == fuzzShowing
}

func (*rooms) Seats(_ context.Context, showing uuid.UUID) (Seats, error) {
	if showing.String() != fuzzShowing {
		return Seats{}, booking.ErrNotFound
	}
	body := func() []byte { return []byte(`{"seats":{}}`) }
	return Seats{ETag: `"k3f9-41"`, JSON: body, Gzip: body}, nil
}

func (*rooms) Start(context.Context) (auth.Session, string, error) {
	return auth.Session{ID: uuid.MustParse(fuzzSession)}, fuzzToken, nil
}

func (*rooms) Lookup(_ context.Context, token string) (auth.Session, error) {
	if token != fuzzToken {
		return auth.Session{}, auth.ErrUnknown
	}
	return auth.Session{ID: uuid.MustParse(fuzzSession)}, nil
}

func (*rooms) Known(string) bool { return true }

func (r *rooms) End(ctx context.Context, token, _ string) (auth.Session, error) {
	return r.Lookup(ctx, token)
}

func (*rooms) Serve(w http.ResponseWriter, _ *http.Request, _ realtime.Client) {
	w.WriteHeader(http.StatusNoContent)
}

func (*rooms) EndSession(uuid.UUID) {}

// question is a request as a client would write it.
type question struct {
	method                                                         string
	target                                                         string
	authorization, cookie, origin, key, kind, condition, requestID string
	body                                                           []byte
}

// request is nil for what the HTTP server would not let in.
func (q question) request() *http.Request {
	u, err := url.ParseRequestURI(q.target)
	if err != nil || !strings.HasPrefix(q.target, "/") {
		return nil
	}
	r := &http.Request{
		Method: q.method, URL: u, RequestURI: q.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "tickets.example",
		RemoteAddr: "203.0.113.7:4711", Header: http.Header{}, ContentLength: int64(len(q.body)), Body: http.NoBody,
	}
	if len(q.body) > 0 {
		r.Body = readCloser{bytes.NewReader(q.body)}
	}
	for name, value := range map[string]string{
		"Authorization": q.authorization, "Cookie": q.cookie, "Origin": q.origin, "Idempotency-Key": q.key, "Content-Type": q.kind,
		"If-None-Match": q.condition, "X-Request-Id": q.requestID,
	} {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil
		}
		if value != "" {
			r.Header[http.CanonicalHeaderKey(name)] = []string{value}
		}
	}
	return r
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// Whatever a client asks, the answer is one of those that are promised, and no word of it is of our insides. A command that
// gets through was sent by someone who has the session's token, by no page of another site, with a proper key; and the same body,
// written in another way, is the same command.
func FuzzRequest(f *testing.F) {
	methods := []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodHead, http.MethodPut, http.MethodOptions}
	add := func(method int, target string, body string) {
		f.Add(byte(method), target, "Bearer "+fuzzToken, "", "", "key-1", "application/json", "", "", []byte(body))
		f.Add(byte(method), target, "", "aisle_session="+fuzzToken, "http://tickets.example", "key-12", "application/json; charset=utf-8", `"k3f9-41"`, "id", []byte(body))
	}
	add(0, "/", "")
	add(0, "/api/docs", "")
	add(0, "/problems/not-found", "")
	add(0, "/api/v1/openapi.json", "")
	add(0, "/api/v1/showings?from=2026-12-01T00:00:00Z&to=x", "")
	add(0, "/api/v1/showings/"+fuzzShowing+"/seats", "")
	add(0, "/api/v1/showings/"+strings.ToUpper(fuzzShowing)+"/layout", "")
	add(0, "/api/v1/bookings/"+fuzzBooking, "{}")
	add(0, "/api/v1/live", "")
	add(1, "/api/v1/sessions", "")
	add(2, "/api/v1/sessions/current", "")
	add(1, "/api/v1/showings/"+fuzzShowing+"/bookings", `{"seats":["F7","F8"]}`)
	add(1, "/api/v1/showings/"+fuzzShowing+"/bookings", `{"seats":["F7","F7"],"more":1}`)
	add(1, "/api/v1/showings/"+fuzzShowing+"/bookings", `{"seats":7}`)
	add(1, "/api/v1/bookings/"+fuzzBooking+"/seats", `{ "seats" : [ "\u0046\u0037" ] }`)
	add(2, "/api/v1/bookings/"+fuzzBooking+"/seats/F%2F7", "")
	add(1, "/api/v1/bookings/"+fuzzBooking+"/confirm", "")
	add(2, "/api/v1/bookings/"+fuzzBooking, "null")
	add(5, "/api/v1/bookings", "")

	below := &rooms{}
	handler, err := New(Config{Logger: slog.New(slog.DiscardHandler)}, Deps{
		Bookings: below, Catalogue: below, Maps: below, Sessions: below, Live: below,
		KeyUsed: func(context.Context, uuid.UUID, string) (bool, error) { return false, nil },
		UI:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	})
	require.NoError(f, err)
	ask := func(q question) (*httptest.ResponseRecorder, *reached) {
		r := q.request()
		if r == nil {
			return nil, nil
		}
		below.last = nil
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w, below.last
	}
	f.Fuzz(func(t *testing.T, method byte, target, authorization, cookie, origin, key, kind, condition, requestID string, body []byte) {
		q := question{methods[int(method)%len(methods)], target, authorization, cookie, origin, key, kind, condition, requestID, body}
		w, led := ask(q)
		if w == nil {
			return
		}
		checkAnswer(t, q, w)
		if led == nil {
			return
		}
		checkCommand(t, q, led)
		if len(led.seats) == 0 || q.method == http.MethodDelete {
			return
		}
		canonical, err := json.Marshal(map[string]any{"seats": led.seats})
		require.NoError(t, err)
		q.body = canonical
		_, again := ask(q)
		require.Equal(t, led, again, "the same body in another form")
	})
}

// insides are words that only our own code would say.
var insides = regexp.MustCompile(`json: |strconv\.|invalid UUID|interface \{|\.go:|goroutine |booking: |auth: |eventstore: |api: |pgx|huma|Unmarshal|context deadline|context canceled|runtime error`)

// quoted is a client's own text, as errors repeat it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?`)

func checkAnswer(t *testing.T, q question, w *httptest.ResponseRecorder) {
	t.Helper()
	h := w.Header()
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
	require.Regexp(t, `^[a-zA-Z0-9._-]{1,64}$`, h.Get("X-Request-Id"))
	if cookie := h.Get("Set-Cookie"); cookie != "" {
		require.Contains(t, cookie, "HttpOnly")
		require.Contains(t, q.target, "/sessions")
	}
	if w.Code < http.StatusBadRequest {
		return
	}
	require.NotEqual(t, http.StatusInternalServerError, w.Code, "%+v: %s", q, w.Body)
	require.Equal(t, "application/problem+json", h.Get("Content-Type"), "%+v", q)
	if q.method == http.MethodHead {
		return
	}
	var p struct {
		Type   string  `json:"type"`
		Title  string  `json:"title"`
		Status int     `json:"status"`
		Detail string  `json:"detail"`
		Errors []where `json:"errors"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), "%s", w.Body)
	require.Equal(t, w.Code, p.Status)
	slug := strings.TrimPrefix(p.Type, "/problems/")
	require.True(t, slices.ContainsFunc(kinds(), func(k kind) bool { return k.slug == slug && k.title == p.Title }), "%+v", p)
	require.LessOrEqual(t, len(p.Errors), maxWheres)
	for _, e := range append(p.Errors, where{Message: p.Detail}) {
		text := quoted.ReplaceAllString(e.Message, "")
		require.False(t, insides.MatchString(text), "%q", e.Message)
		require.Less(t, len(text), 300, "%q", e.Message)
	}
}

func checkCommand(t *testing.T, q question, led *reached) {
	t.Helper()
	require.Equal(t, fuzzSession, led.command.Session.String())
	require.Contains(t, cmp.Or(q.authorization, q.cookie), fuzzToken, "whose word was it?")
	if q.authorization == "" && q.origin != "" {
		require.Equal(t, "http://tickets.example", strings.ToLower(q.origin), "a page of another site")
	}
	require.True(t, validKey(led.command.Key))
	require.Equal(t, q.key, led.command.Key)
	method, path, _ := strings.Cut(led.command.Route, " ")
	require.Equal(t, q.method, method)
	require.Equal(t, canonicalPath(path), path)
	require.LessOrEqual(t, len(led.seats), 1000)
	for _, seat := range led.seats {
		require.True(t, utf8.ValidString(string(seat)) || q.method == http.MethodDelete, "%q", seat)
	}
}

// A request says who it speaks for in one way: a Bearer header, whatever it says, before any cookie; and over TLS no
// cookie that a neighbour in the domain could have set.
func FuzzToken(f *testing.F) {
	f.Add("Bearer "+fuzzToken, "aisle_session=x", false)
	f.Add("", "aisle_session="+fuzzToken+"; __Host-aisle_session=y", true)
	f.Add("Basic YTpi", "aisle_session=x", false)
	f.Add("bearer", "; ;=", true)
	f.Fuzz(func(t *testing.T, authorization, cookie string, https bool) {
		r := &http.Request{Header: http.Header{"Cookie": {cookie}}}
		r = withRequest(r, &request{https: https})
		if _, ok := bearer(r); ok {
			t.Fatal("a token out of nothing")
		}
		fromCookie := token(r)
		require.Contains(t, cookie, fromCookie)
		if https && fromCookie != "" {
			require.Contains(t, cookie, hostCookieName)
		}
		r.Header["Authorization"] = []string{authorization}
		fromHeader := token(r)
		require.Contains(t, authorization, fromHeader)
		if fromHeader != "" {
			require.Equal(t, "bearer", strings.ToLower(authorization[:6]))
		}
		r.Header["Authorization"] = []string{authorization, "Bearer " + fuzzToken}
		require.Empty(t, token(r), "two headers say two things")
	})
}

// A time that is let through is one instant, whatever its zone.
func FuzzInstant(f *testing.F) {
	for _, seed := range []string{"", "2026-12-01T00:00:00Z", "2026-12-01T00:00:00+24:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := instant(text, time.Unix(1, 0))
		if err != nil {
			require.NotEmpty(t, text)
			return
		}
		if text == "" {
			require.Equal(t, time.Unix(1, 0), got)
			return
		}
		again, err := instant(got.UTC().Format(time.RFC3339Nano), time.Time{})
		if err != nil {
			var bad *time.ParseError
			require.True(t, errors.As(err, &bad) && (got.UTC().Year() > 9999 || got.UTC().Year() < 0), "%q", text)
			return
		}
		require.True(t, got.Equal(again))
	})
}
