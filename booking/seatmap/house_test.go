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
func newHouse(t testing.TB) *house {
	t.Helper()
	url, prefix := stacktest.Redis(t)
	return openHouse(t, stacktest.Postgres(t), url, prefix)
}

// ownHouse has stores of its own, for tests that take them away.
func ownHouse(t testing.TB) (*house, *localstack.Stack) {
	t.Helper()
	stack := stacktest.Own(t, localstack.Postgres|localstack.Redis)
	return openHouse(t, stack.PostgresURL(), stack.RedisURL(), "own:"), stack
}

func openHouse(t testing.TB, postgresURL, redisURL, prefix string) *house {
	t.Helper()
	_, err := eventstore.Migrate(t.Context(), postgresURL, "")
	require.NoError(t, err)
	h := &house{url: postgresURL, prefix: prefix, redis: dial(t, redisURL), notes: &notes{}}
	for _, row := range "ABCDEF" {
		for number := 1; number <= 10; number++ {
			h.codes = append(h.codes, booking.Seat(fmt.Sprintf("%c%d", row, number)))
		}
	}
	h.store = h.open(t, eventstore.PoolConfig{})
	return h
}

// open makes another store on the house's log, as each replica has one.
func (h *house) open(t testing.TB, cfg eventstore.PoolConfig) *eventstore.Store {
	t.Helper()
	pool, err := eventstore.NewPool(t.Context(), h.url, cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store, err := eventstore.Open(t.Context(), pool, eventstore.Config{Logger: h.logger()})
	require.NoError(t, err)
	start(t, store.Run)
	return store
}

func dial(t testing.TB, redisURL string) redis.UniversalClient {
	t.Helper()
	options, err := redis.ParseURL(redisURL)
	require.NoError(t, err)
	options.DialerRetries = 1
	options.MaxRetries = -1
	options.DialTimeout = time.Second
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// start runs something until the returned function is called, at the latest at the test's end.
func start(t testing.TB, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// live starts a replica's maps.
func (h *house) live(t testing.TB, cfg LiveConfig) *Live {
	t.Helper()
	return h.liveOn(t, cfg, h.store, h.redis)
}

func (h *house) liveOn(t testing.TB, cfg LiveConfig, log Log, client redis.UniversalClient) *Live {
	t.Helper()
	cfg.Prefix, cfg.Logger = h.prefix, h.logger()
	l, err := NewLive(cfg, log, client, h)
	require.NoError(t, err)
	start(t, l.Run)
	return l
}

// lease is a term whose lease always has that much left.
func lease(epoch int64, left time.Duration) Term {
	return Term{Epoch: epoch, Remaining: func() time.Duration { return left }}
}

// lead starts a projector.
func (h *house) lead(t testing.TB, cfg ProjectorConfig, term Term) (stop func()) {
	t.Helper()
	p := h.projector(t, cfg, h.store)
	return start(t, func(ctx context.Context) error { return p.Run(ctx, term) })
}

func (h *house) projector(t testing.TB, cfg ProjectorConfig, log ProjectorLog) *Projector {
	t.Helper()
	cfg.Prefix, cfg.Logger = h.prefix, h.logger()
	p, err := NewProjector(cfg, log, h.redis, h)
	require.NoError(t, err)
	return p
}

// showing opens a showing's stream.
func (h *house) showing(t testing.TB) uuid.UUID {
	t.Helper()
	id := uuid.New()
	h.openStream(t, id)
	return id
}

func (h *house) openStream(t testing.TB, id uuid.UUID) {
	t.Helper()
	require.NoError(t, h.store.OpenStream(t.Context(), id, eventstore.NewEvent{
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

// append puts a sale into the log, whatever the seats' state. A guard error is returned, others fail.
func (h *house) append(t testing.TB, showing uuid.UUID, s sale) (eventstore.Result, error) {
	t.Helper()
	entities := []string{booking.BookingEntity(s.booking)}
	for _, seat := range s.seats {
		entities = append(entities, booking.SeatEntity(seat))
	}
	latest, err := h.store.Latest(t.Context(), showing, entities)
	require.NoError(t, err)
	prev := map[string]int64{}
	for _, e := range latest {
		prev[e.Entity] = e.Seq
	}
	request := eventstore.Request{Stream: showing}
	add := func(entity, kind string, body any) {
		data, err := json.Marshal(body)
		require.NoError(t, err)
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
	result, err := h.store.Append(t.Context(), request)
	if guard := (*eventstore.GuardError)(nil); !errors.As(err, &guard) {
		require.NoError(t, err)
	}
	return result, err
}

// sell is an append that passes; it returns the showing's seq.
func (h *house) sell(t testing.TB, showing uuid.UUID, s sale) eventstore.Result {
	t.Helper()
	result, err := h.append(t, showing, s)
	require.NoError(t, err)
	return result
}

// sessionOf is a session for a booking's events.
func sessionOf(id uuid.UUID) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, id[:]) }

// history is all of a showing's events.
func (h *house) history(t testing.TB, showing uuid.UUID) []eventstore.Event {
	t.Helper()
	events, err := h.store.Read(t.Context(), showing, 0, 9999)
	require.NoError(t, err)
	return events
}

// oracle is the map at a seq, made of the log's events without any code of ours but the event's body.
func (h *house) oracle(t testing.TB, events []eventstore.Event, seq int64) map[string]string {
	t.Helper()
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
		require.NoError(t, json.Unmarshal(e.Data, &body))
		seats[body.Seat] = body.Current
	}
	return seats
}

// seatsOf is a snapshot's seats.
func seatsOf(t testing.TB, s Snapshot) map[string]string {
	t.Helper()
	seats := map[string]string{}
	require.NoError(t, json.Unmarshal(s.Seats, &seats))
	return seats
}

func gunzip(t testing.TB, zipped []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	require.NoError(t, err)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	return plain
}

// await waits until a map has come to a seq and agrees with the log there.
func (h *house) await(t testing.TB, m *Map, seq int64) {
	t.Helper()
	awaitMap(t, m, func(s Snapshot) bool { return s.Seq >= seq })
	s := m.Snapshot()
	require.Equal(t, h.oracle(t, h.history(t, s.Showing), s.Seq), seatsOf(t, s))
}

// awaitMap waits, by the map's own signals, until it is as wanted.
func awaitMap(t testing.TB, m *Map, wanted func(Snapshot) bool) {
	t.Helper()
	limit := time.After(patience)
	for !wanted(m.Snapshot()) {
		select {
		case <-m.Changes():
		case <-limit:
			s := m.Snapshot()
			t.Fatalf("the map did not get there: log %s, seq %d, stale %v", s.Log, s.Seq, s.Stale)
		}
	}
}

// stored reads a showing's snapshot in Redis; false when there is none that can be read.
func (h *house) stored(t testing.TB, showing uuid.UUID) (stored, bool) {
	t.Helper()
	fields, err := h.redis.HGetAll(t.Context(), SnapshotKey(h.prefix, showing)).Result()
	if err != nil {
		return stored{}, false
	}
	s, err := decodeStored(fields)
	return s, err == nil
}

// awaitStored waits until Redis has the showing's snapshot at a seq.
func (h *house) awaitStored(t testing.TB, showing uuid.UUID, seq int64) stored {
	t.Helper()
	var s stored
	require.Eventually(t, func() bool {
		var ok bool
		s, ok = h.stored(t, showing)
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
