package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/web/api"
	"github.com/aislehq/aisle/web/auth"
)

// The showings of a test's cinema: a hall with seats A1 … A6 at 10 €, the last one a wheelchair place.
type showings struct{ open, scheduled, closed, cancelled uuid.UUID }

// settings are what a test wants otherwise.
type settings struct {
	api       api.Config
	booking   booking.Config
	auth      auth.Config
	postgres  string        // a database of the test's own
	stale     time.Duration // how soon maps are called stale; a minute, or a busy machine would look like an outage
	ui        fs.FS
	available func(context.Context, uuid.UUID) (int, bool)
	bookings  func(api.Bookings) api.Bookings
	observe   func(route, method string, status int, took time.Duration)
}

// site is one replica on real stores, behind a real server.
type site struct {
	t         *testing.T
	pool      *pgxpool.Pool
	store     *eventstore.Store
	live      *seatmap.Live
	hub       *realtime.Hub
	sessions  *auth.Sessions
	catalogue *catalogue.Catalogue
	showings  showings
	server    *httptest.Server
	log       *syncBuffer
}

func newSite(t *testing.T, change func(*settings)) *site {
	t.Helper()
	set := settings{}
	if change != nil {
		change(&set)
	}
	if set.stale == 0 {
		set.stale = time.Minute
	}
	if set.postgres == "" {
		set.postgres = stacktest.Postgres(t)
	}
	s := &site{t: t, log: &syncBuffer{}}
	_, err := eventstore.Migrate(t.Context(), set.postgres, "")
	require.NoError(t, err)
	s.pool, err = eventstore.NewPool(t.Context(), set.postgres, eventstore.PoolConfig{MaxConns: 6})
	require.NoError(t, err)
	t.Cleanup(s.pool.Close)
	s.openLog()
	s.openCinema()
	s.openRooms(set)
	return s
}

// background runs something until the test ends.
func (s *site) background(run func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		require.NoError(s.t, <-ended)
	})
}

func (s *site) openLog() {
	s.t.Helper()
	store, err := eventstore.Open(s.t.Context(), s.pool, eventstore.Config{Logger: s.logger()})
	require.NoError(s.t, err)
	s.store = store
	s.background(store.Run)
}

func (s *site) openCinema() {
	s.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	category := uuid.New()
	plan := catalogue.Plan{
		Cinema:     catalogue.Cinema{ID: uuid.New(), Name: "Rex", TimeZone: "Europe/Zurich", Currency: "EUR"},
		Auditorium: catalogue.Auditorium{ID: uuid.New(), Name: "Hall 1"},
		Layout:     uuid.New(), LayoutVersion: 1,
		Categories: []catalogue.Category{{ID: category, Name: "Standard", Price: booking.Money{Amount: 1000, Currency: "EUR"}}},
	}
	for i := range 6 {
		kind := catalogue.Standard
		if i == 5 {
			kind = catalogue.Wheelchair
		}
		plan.Seats = append(plan.Seats, catalogue.LayoutSeat{
			Seat: booking.Seat("A" + strconv.Itoa(i+1)), Row: "A", Number: strconv.Itoa(i + 1), X: float64(i), Category: category, Kind: kind,
		})
	}
	film := uuid.New()
	show := func(id uuid.UUID, opens, closes time.Time, cancelled bool) {
		plan.Showings = append(plan.Showings, catalogue.PlannedShowing{
			ID: id, Film: film, FilmTitle: "Eleven Ways to Leave a Harbour", StartsAt: closes, OpensAt: opens, ClosesAt: closes, Cancelled: cancelled,
		})
	}
	s.showings = showings{open: uuid.New(), scheduled: uuid.New(), closed: uuid.New(), cancelled: uuid.New()}
	show(s.showings.closed, now.Add(-48*time.Hour), now.Add(-24*time.Hour), false)
	show(s.showings.open, now.Add(-time.Hour), now.Add(24*time.Hour), false)
	show(s.showings.scheduled, now.Add(time.Hour), now.Add(48*time.Hour), false)
	show(s.showings.cancelled, now.Add(-time.Hour), now.Add(72*time.Hour), true)
	require.NoError(s.t, catalogue.Insert(s.t.Context(), s.pool, plan))
	require.NoError(s.t, catalogue.Open(s.t.Context(), s.store, plan))
	programme, err := catalogue.New(s.pool, catalogue.Config{Logger: s.logger()})
	require.NoError(s.t, err)
	require.NoError(s.t, programme.Load(s.t.Context()))
	s.catalogue = programme
}

func (s *site) openRooms(set settings) {
	s.t.Helper()
	redisURL, prefix := stacktest.Redis(s.t)
	client, err := lock.NewClient(redisURL)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = client.Close() })
	locker, err := lock.New(client, lock.Config{Prefix: prefix})
	require.NoError(s.t, err)

	s.live, err = seatmap.NewLive(seatmap.LiveConfig{
		CheckEvery: 20 * time.Millisecond, StaleAfter: set.stale, Logger: s.logger(),
		OnBooking: func(b booking.Booking) { s.sendBooking(b) },
	}, s.store, nil, s.catalogue)
	require.NoError(s.t, err)
	set.booking.Logger = s.logger()
	service, err := booking.NewService(set.booking, s.store, locker, s.catalogue, s.live)
	require.NoError(s.t, err)

	set.api.Logger = s.logger()
	if set.api.RequestTimeout == 0 {
		set.api.RequestTimeout = time.Minute
	}
	origins, err := api.NewOrigins(set.api)
	require.NoError(s.t, err)
	s.hub, err = realtime.NewHub(realtime.Config{CheckOrigin: origins.Allowed, Logger: s.logger()}, rooms{s.live})
	require.NoError(s.t, err)
	set.auth.Logger = s.logger()
	set.auth.QueryTimeout = 10 * time.Second // a busy machine must not look like a lost database
	s.sessions, err = auth.NewSessions(s.pool, set.auth)
	require.NoError(s.t, err)

	var bookings api.Bookings = service
	if set.bookings != nil {
		bookings = set.bookings(bookings)
	}
	handler, err := api.New(set.api, api.Deps{
		Bookings: bookings, Catalogue: s.catalogue, Maps: pages{s.live}, Sessions: s.sessions, Live: s.hub,
		KeyUsed: s.keyUsed, Available: set.available, UI: set.ui, Observe: set.observe,
	})
	require.NoError(s.t, err)
	s.background(s.live.Run)
	s.background(s.hub.Run)
	<-s.hub.Ready()
	s.server = httptest.NewServer(handler)
	s.t.Cleanup(s.server.Close)
}

func (s *site) sendBooking(b booking.Booking) {
	if body, err := api.EncodeBooking(b); err == nil {
		s.hub.SendBooking(b.Session, body)
	}
}

func (s *site) keyUsed(ctx context.Context, session uuid.UUID, key string) (bool, error) {
	_, err := s.store.Recorded(ctx, session, key)
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s *site) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// pages serves the live maps to the API.
type pages struct{ live *seatmap.Live }

func (p pages) Seats(ctx context.Context, showing uuid.UUID) (api.Seats, error) {
	opened, err := p.live.Open(ctx, showing)
	if errors.Is(err, seatmap.ErrUnknownShowing) {
		return api.Seats{}, booking.ErrNotFound
	}
	if err != nil {
		return api.Seats{}, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
	}
	defer opened.Close()
	snapshot := opened.Snapshot()
	return api.Seats{ETag: snapshot.ETag, JSON: snapshot.JSON, Gzip: snapshot.Gzip}, nil
}

// rooms serves the live maps to the hub.
type rooms struct{ live *seatmap.Live }

func (r rooms) Open(ctx context.Context, showing uuid.UUID) (realtime.Map, error) {
	opened, err := r.live.Open(ctx, showing)
	if errors.Is(err, seatmap.ErrUnknownShowing) {
		return nil, realtime.ErrUnknownShowing
	}
	if err != nil {
		return nil, err
	}
	return room{opened}, nil
}

type room struct{ *seatmap.Map }

func (r room) Snapshot() realtime.Snapshot {
	s := r.Map.Snapshot()
	return realtime.Snapshot{Log: s.Log, Seq: s.Seq, Stale: s.Stale, Seats: s.Seats}
}

func (r room) Since(log string, seq int64) (realtime.Delta, bool) {
	d, ok := r.Map.Since(log, seq)
	out := realtime.Delta{Prev: d.Prev, Seq: d.Seq, Stale: d.Stale, Seats: map[string]string{}}
	for seat, status := range d.Seats {
		out.Seats[string(seat)] = string(status)
	}
	return out, ok
}

// customer is someone with a session.
type customer struct {
	s     *site
	token string
	id    string
}

// reply is an answer.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// do sends a request as it is.
func (s *site) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	url := path
	if !strings.Contains(path, "://") {
		url = s.server.URL + path
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, url, reader)
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	// The bare transport follows no redirects and keeps no cookies.
	answer, err := s.server.Client().Transport.RoundTrip(r)
	require.NoError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	out := reply{t: s.t, status: answer.StatusCode, header: answer.Header, raw: raw}
	if strings.Contains(answer.Header.Get("Content-Type"), "json") && answer.Header.Get("Content-Encoding") == "" {
		_ = json.Unmarshal(raw, &out.body)
	}
	return out
}

func (s *site) customer() *customer {
	s.t.Helper()
	r := s.do(http.MethodPost, "/api/v1/sessions", "")
	require.Equal(s.t, http.StatusCreated, r.status, "%s", r.raw)
	return &customer{s: s, token: r.text("token"), id: r.text("session")}
}

// do sends a request with the customer's token, JSON and, unless it is a GET, a fresh key.
func (c *customer) do(method, path, body string, headers ...string) reply {
	c.s.t.Helper()
	all := []string{"Authorization", "Bearer " + c.token}
	if method != http.MethodGet && !contains(headers, "Idempotency-Key") {
		all = append(all, "Idempotency-Key", uuid.NewString())
	}
	if body != "" && !contains(headers, "Content-Type") {
		all = append(all, "Content-Type", "application/json")
	}
	return c.s.do(method, "/api/v1"+path, body, append(all, headers...)...)
}

func contains(headers []string, name string) bool {
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == name {
			return true
		}
	}
	return false
}

// hold holds seats of the open showing and gives the booking's id.
func (c *customer) hold(seats ...string) string {
	c.s.t.Helper()
	r := c.do(http.MethodPost, c.s.bookingsPath(), wanted(seats...))
	require.Equal(c.s.t, http.StatusCreated, r.status, "%s", r.raw)
	return r.text("id")
}

func (s *site) bookingsPath() string { return "/showings/" + s.showings.open.String() + "/bookings" }

func wanted(seats ...string) string {
	quoted := make([]string, len(seats))
	for i, seat := range seats {
		quoted[i] = strconv.Quote(seat)
	}
	return `{"seats":[` + strings.Join(quoted, ",") + `]}`
}

func (r reply) text(name string) string {
	r.t.Helper()
	text, ok := r.body[name].(string)
	require.True(r.t, ok, "%s in %s", name, r.raw)
	return text
}

func (r reply) number(name string) int64 {
	r.t.Helper()
	number, ok := r.body[name].(float64)
	require.True(r.t, ok, "%s in %s", name, r.raw)
	return int64(number)
}

// problem requires the answer to be exactly this kind of problem, in the shape that all have.
func (r reply) problem(status int, slug string) reply {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.raw)
	require.Equal(r.t, "application/problem+json", r.header.Get("Content-Type"), "%s", r.raw)
	require.Equal(r.t, "/problems/"+slug, r.body["type"])
	require.EqualValues(r.t, status, r.body["status"])
	require.NotEmpty(r.t, r.body["title"])
	require.NotEmpty(r.t, r.body["detail"])
	require.NotEmpty(r.t, r.header.Get("X-Request-Id"))
	return r
}

// fault requires the first of the problem's errors to be at a location.
func (r reply) fault(location string) {
	r.t.Helper()
	errs, ok := r.body["errors"].([]any)
	require.True(r.t, ok, "%s", r.raw)
	require.NotEmpty(r.t, errs)
	first, ok := errs[0].(map[string]any)
	require.True(r.t, ok)
	require.Equal(r.t, location, first["location"], "%s", r.raw)
	require.NotEmpty(r.t, first["message"])
}

func (r reply) retryAfter() {
	r.t.Helper()
	require.Regexp(r.t, `^[1-9][0-9]*$`, r.header.Get("Retry-After"))
}
