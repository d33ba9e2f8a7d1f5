package seatmap

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// patience is how long a test waits for something that should come much sooner.
const patience = 20 * time.Second

// house is a cinema's stores for one test: a log, a Redis, and one layout for all showings.
type house struct {
	url    string
	store  *eventstore.Store
	redis  redis.UniversalClient
	prefix string
	codes  []booking.Seat
	notes  *notes
}

// Seats implements Layouts: every showing but the zero one has the same seats.
func (h *house) Seats(showing uuid.UUID) ([]booking.Seat, bool) {
	return h.codes, showing != uuid.Nil
}

// newHouse uses the stores that all tests share.
func newHouse(tb testing.TB) *house {
	tb.Helper()
	url, prefix := stacktest.Redis(tb)
	return openHouse(tb, stacktest.Postgres(tb), url, prefix)
}

// ownHouse has stores of its own, for tests that take them away.
func ownHouse(tb testing.TB) (*house, *localstack.Stack) {
	tb.Helper()
	stack := stacktest.Own(tb, localstack.Postgres|localstack.Redis)
	return openHouse(tb, stack.PostgresURL(), stack.RedisURL(), "own:"), stack
}

func openHouse(tb testing.TB, postgresURL, redisURL, prefix string) *house {
	tb.Helper()
	_, err := eventstore.Migrate(tb.Context(), postgresURL, "")
	require.NoError(tb, err)
	h := &house{url: postgresURL, prefix: prefix, redis: dial(tb, redisURL), notes: &notes{}}
	for _, row := range "ABCDEF" {
		for number := 1; number <= 10; number++ {
			h.codes = append(h.codes, booking.Seat(fmt.Sprintf("%c%d", row, number)))
		}
	}
	h.store = h.open(tb, eventstore.PoolConfig{})
	return h
}

// open makes another store on the house's log, as each replica has one.
func (h *house) open(tb testing.TB, cfg eventstore.PoolConfig) *eventstore.Store {
	tb.Helper()
	pool, err := eventstore.NewPool(tb.Context(), h.url, cfg)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	store, err := eventstore.Open(tb.Context(), pool, eventstore.Config{Logger: h.logger()})
	require.NoError(tb, err)
	start(tb, store.Run)
	return store
}

func dial(tb testing.TB, redisURL string) redis.UniversalClient {
	tb.Helper()
	options, err := redis.ParseURL(redisURL)
	require.NoError(tb, err)
	options.DialerRetries = 1
	options.MaxRetries = -1
	options.DialTimeout = time.Second
	options.ReadTimeout = time.Second
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// start runs something until the returned function is called, at the latest at the test's end.
func start(tb testing.TB, f func(context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(tb, <-ended)
	})
	tb.Cleanup(stop)
	return stop
}

// live starts a replica's maps.
func (h *house) live(tb testing.TB, cfg LiveConfig) *Live {
	tb.Helper()
	return h.liveOn(tb, cfg, h.store, h.redis)
}

func (h *house) liveOn(tb testing.TB, cfg LiveConfig, log Log, client redis.UniversalClient) *Live {
	tb.Helper()
	cfg.Prefix, cfg.Logger = h.prefix, h.logger()
	l, err := NewLive(cfg, log, client, h)
	require.NoError(tb, err)
	start(tb, l.Run)
	return l
}

// lease is a term whose lease always has that much left.
func lease(epoch int64, left time.Duration) Term {
	return Term{Epoch: epoch, Remaining: func() time.Duration { return left }}
}

// lead starts a projector.
func (h *house) lead(tb testing.TB, cfg ProjectorConfig, term Term) (stop func()) {
	tb.Helper()
	p := h.projector(tb, cfg, h.store)
	return start(tb, func(ctx context.Context) error { return p.Run(ctx, term) })
}

func (h *house) projector(tb testing.TB, cfg ProjectorConfig, log ProjectorLog) *Projector {
	tb.Helper()
	cfg.Prefix, cfg.Logger = h.prefix, h.logger()
	p, err := NewProjector(cfg, log, h.redis, h)
	require.NoError(tb, err)
	return p
}

// showing opens a showing's stream.
func (h *house) showing(tb testing.TB) uuid.UUID {
	tb.Helper()
	id := uuid.New()
	h.openStream(tb, id)
	return id
}

func (h *house) openStream(tb testing.TB, id uuid.UUID) {
	tb.Helper()
	require.NoError(tb, h.store.OpenStream(tb.Context(), id, eventstore.NewEvent{
		ID: uuid.New(), Entity: booking.ShowingEntity, Type: booking.TypeShowingOpened,
		Data: json.RawMessage(`{"layout_version":1}`),
	}))
}

// sale is what one append does to one booking and its seats.
type sale struct {
	booking uuid.UUID
	state   booking.BookingState
	kind    string
	to      booking.Status
	seats   []booking.Seat
}

func hold(id uuid.UUID, seats ...booking.Seat) sale {
	return sale{booking: id, state: booking.StateHeld, kind: booking.TypeBookingHeld, to: booking.Held, seats: seats}
}

func confirm(id uuid.UUID, seats ...booking.Seat) sale {
	return sale{
		booking: id, state: booking.StateConfirmed, kind: booking.TypeBookingConfirmed, to: booking.Sold, seats: seats,
	}
}

func release(id uuid.UUID, seats ...booking.Seat) sale {
	return sale{
		booking: id, state: booking.StateReleased, kind: booking.TypeBookingReleased, to: booking.Available, seats: seats,
	}
}

// append puts a sale into the log, whatever the seats' state.
func (h *house) append(ctx context.Context, showing uuid.UUID, s sale) (eventstore.Result, error) {
	entities := []string{booking.BookingEntity(s.booking)}
	for _, seat := range s.seats {
		entities = append(entities, booking.SeatEntity(seat))
	}
	latest, err := h.store.Latest(ctx, showing, entities)
	if err != nil {
		return eventstore.Result{}, err
	}
	prev := map[string]int64{}
	for _, e := range latest {
		prev[e.Entity] = e.Seq
	}
	request := eventstore.Request{Stream: showing}
	add := func(entity, kind string, body any) {
		data, failed := json.Marshal(body)
		err = errors.Join(err, failed)
		e := eventstore.NewEvent{ID: uuid.New(), Entity: entity, Prev: prev[entity], Type: kind, Data: data}
		if s.to == booking.Held {
			e.Deadline.In = 10 * time.Minute
		}
		request.Events = append(request.Events, e)
	}
	for _, seat := range s.seats {
		add(booking.SeatEntity(seat), booking.TypeSeatStatusChanged, booking.SeatStatusChanged{
			Booking: s.booking, Seat: seat, Previous: booking.Available, Current: s.to,
		})
	}
	kept := s.seats
	if s.to == booking.Available {
		kept = []booking.Seat{}
	}
	add(booking.BookingEntity(s.booking), s.kind, booking.BookingChanged{
		Booking: s.booking, Session: sessionOf(s.booking), State: s.state, Seats: kept,
	})
	if err != nil {
		return eventstore.Result{}, err
	}
	return h.store.Append(ctx, request)
}

// sell is an append that passes.
func (h *house) sell(tb testing.TB, showing uuid.UUID, s sale) eventstore.Result {
	tb.Helper()
	result, err := h.append(tb.Context(), showing, s)
	require.NoError(tb, err)
	return result
}

// sessionOf is a session for a booking's events.
func sessionOf(id uuid.UUID) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, id[:]) }

// history is all of a showing's events.
func (h *house) history(tb testing.TB, showing uuid.UUID) []eventstore.Event {
	tb.Helper()
	events, err := h.store.Read(tb.Context(), showing, 0, 9999)
	require.NoError(tb, err)
	return events
}

// oracle is the map at a seq, made of the log's events without any code of ours but the event's body.
func (h *house) oracle(tb testing.TB, events []eventstore.Event, seq int64) map[string]string {
	tb.Helper()
	seats := map[string]string{}
	for _, code := range h.codes {
		seats[string(code)] = "available"
	}
	for _, e := range events {
		if e.Seq > seq || e.Type != "SeatStatusChanged" {
			continue
		}
		var body struct {
			Seat    string `json:"seat"`
			Current string `json:"current"`
		}
		require.NoError(tb, json.Unmarshal(e.Data, &body))
		seats[body.Seat] = body.Current
	}
	return seats
}

// seatsOf is a snapshot's seats.
func seatsOf(tb testing.TB, s Snapshot) map[string]string {
	tb.Helper()
	seats := map[string]string{}
	require.NoError(tb, json.Unmarshal(s.Seats, &seats))
	return seats
}

func gunzip(tb testing.TB, zipped []byte) []byte {
	tb.Helper()
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	require.NoError(tb, err)
	plain, err := io.ReadAll(r)
	require.NoError(tb, err)
	return plain
}

// await waits until a map has come to a seq and agrees with the log there.
func (h *house) await(tb testing.TB, m *Map, seq int64) {
	tb.Helper()
	awaitMap(tb, m, func(s Snapshot) bool { return s.Seq >= seq })
	s := m.Snapshot()
	require.Equal(tb, h.oracle(tb, h.history(tb, s.Showing), s.Seq), seatsOf(tb, s))
}

// awaitMap waits, by the map's own signals, until it is as wanted.
func awaitMap(tb testing.TB, m *Map, wanted func(Snapshot) bool) {
	tb.Helper()
	limit := time.After(patience)
	for !wanted(m.Snapshot()) {
		select {
		case <-m.Changes():
		case <-limit:
			s := m.Snapshot()
			tb.Fatalf("the map did not get there: log %s, seq %d, stale %v", s.Log, s.Seq, s.Stale)
		}
	}
}

// stored reads a showing's snapshot in Redis; false when there is none that can be read.
func (h *house) stored(tb testing.TB, showing uuid.UUID) (stored, bool) {
	tb.Helper()
	fields, err := h.redis.HGetAll(tb.Context(), SnapshotKey(h.prefix, showing)).Result()
	if err != nil {
		return stored{}, false
	}
	s, err := decodeStored(fields)
	return s, err == nil
}

// awaitStored waits until Redis has the showing's snapshot at a seq.
func (h *house) awaitStored(tb testing.TB, showing uuid.UUID, seq int64) stored {
	tb.Helper()
	var s stored
	require.Eventually(tb, func() bool {
		var ok bool
		s, ok = h.stored(tb, showing)
		return ok && s.position.Seq >= seq
	}, patience, 10*time.Millisecond)
	return s
}

// logger collects what is logged, for the tests that look at it.
func (h *house) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(h.notes, nil))
}

// notes are lines that were logged.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(line)
}

// count is how many lines have all the words.
func (n *notes) count(words ...string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for line := range strings.Lines(n.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			count++
		}
	}
	return count
}
