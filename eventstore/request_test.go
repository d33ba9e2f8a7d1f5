package eventstore_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/eventstore"
)

// What can never pass is refused before it is sent, whoever else is in the batch.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	valid := func() eventstore.Request {
		req := hold(uuid.New(), uuid.New(), uuid.New(), "seat:A1")
		req.Command = command("k1")
		return req
	}
	_, err := eventstore.Normalize(valid())
	require.NoError(t, err)
	for name, spoil := range map[string]func(r *eventstore.Request){
		"no stream":                  func(r *eventstore.Request) { r.Stream = uuid.Nil },
		"no events":                  func(r *eventstore.Request) { r.Events = nil },
		"too many events":            func(r *eventstore.Request) { r.Events = make([]eventstore.NewEvent, 4097) },
		"two events for one entity":  func(r *eventstore.Request) { r.Events = append(r.Events, event("seat:A1", 1)) },
		"no entity":                  func(r *eventstore.Request) { r.Events[0].Entity = "" },
		"entity too long":            func(r *eventstore.Request) { r.Events[0].Entity = strings.Repeat("x", 256) },
		"entity with a zero byte":    func(r *eventstore.Request) { r.Events[0].Entity = "seat:\x00" },
		"entity is not UTF-8":        func(r *eventstore.Request) { r.Events[0].Entity = "seat:\xff" },
		"no type":                    func(r *eventstore.Request) { r.Events[0].Type = "" },
		"negative prev":              func(r *eventstore.Request) { r.Events[0].Prev = -1 },
		"no body":                    func(r *eventstore.Request) { r.Events[0].Data = nil },
		"body is not an object":      func(r *eventstore.Request) { r.Events[0].Data = json.RawMessage(`[1]`) },
		"something after the body":   func(r *eventstore.Request) { r.Events[0].Data = json.RawMessage("{} ") },
		"body is not JSON":           func(r *eventstore.Request) { r.Events[0].Data = json.RawMessage(`{"a":}`) },
		"body too large":             func(r *eventstore.Request) { r.Events[0].Data = largeBody(64<<10 + 1) },
		"deadline twice":             func(r *eventstore.Request) { r.Events[0].Deadline = eventstore.Deadline{At: time.Unix(1, 0), In: 1} },
		"negative deadline":          func(r *eventstore.Request) { r.Events[0].Deadline.In = -time.Second },
		"deadline out of this world": func(r *eventstore.Request) { r.Events[0].Deadline.At = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"check out of this world": func(r *eventstore.Request) {
			r.Checks = []eventstore.Check{{From: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}}
		},
		"key too long":              func(r *eventstore.Request) { r.Command.Key = strings.Repeat("x", 1021) },
		"key with a zero byte":      func(r *eventstore.Request) { r.Command.Key = "\x00" },
		"route too long":            func(r *eventstore.Request) { r.Command.Route = strings.Repeat("x", 1025) },
		"status":                    func(r *eventstore.Request) { r.Command.Status = 1000 },
		"negative limit":            func(r *eventstore.Request) { r.MaxHeldSeats = -1 },
		"booking without its event": func(r *eventstore.Request) { r.Bookings[0].Entity = "booking:other" },
		"booking without a state":   func(r *eventstore.Request) { r.Bookings[0].State = "" },
		"negative seats":            func(r *eventstore.Request) { r.Bookings[0].Seats = -1 },
		"one booking twice":         func(r *eventstore.Request) { r.Bookings = append(r.Bookings, r.Bookings[0]) },
		"two holds of a session": func(r *eventstore.Request) {
			second := r.Bookings[0]
			second.ID = uuid.New()
			r.Bookings = append(r.Bookings, second)
		},
	} {
		req := valid()
		spoil(&req)
		_, err := eventstore.Normalize(req)
		require.ErrorIs(t, err, eventstore.ErrInvalid, name)
	}
}

func largeBody(size int) json.RawMessage {
	return json.RawMessage(`{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}`)
}

// The largest that is let through is also what the database takes.
func TestLargestRequest(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	req := hold(f.stream(t), uuid.New(), uuid.New(), strings.Repeat("é", 127))
	req.Command = command(strings.Repeat("🎬", 255))
	req.Command.Route = strings.Repeat("r", 1024)
	req.Command.Status = 999
	req.Events[0].Data = largeBody(64 << 10)
	req.Events[0].Deadline.At = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	res, err := f.Append(t.Context(), req)
	require.NoError(t, err)
	read, err := f.Read(t.Context(), req.Stream, 1, 10)
	require.NoError(t, err)
	assert.Equal(t, res.Events, read)
	_, err = f.Append(t.Context(), req)
	require.NoError(t, err)
}

func TestGivenRequestIsNotChanged(t *testing.T) {
	t.Parallel()
	req := hold(uuid.New(), uuid.New(), uuid.New(), "seat:A1")
	normal, err := eventstore.Normalize(req)
	require.NoError(t, err)
	assert.Equal(t, uuid.Nil, req.Events[0].ID)
	assert.NotEqual(t, uuid.Nil, normal.Events[0].ID)
	assert.NotEqual(t, normal.Events[0].ID, normal.Events[1].ID)
}

func TestLookUpsOfEvents(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	require.NoError(t, f.OpenStream(t.Context(), stream, event("showing", 0)), "opened again: nothing")
	require.ErrorIs(t, f.OpenStream(t.Context(), stream, event("showing", 1)), eventstore.ErrInvalid)
	first := f.add(t, stream, "seat:A1").Events[0]
	other := f.add(t, stream, "seat:A2").Events[0]
	res, err := f.Append(t.Context(), eventstore.Request{Stream: stream, Events: []eventstore.NewEvent{event("seat:A1", 2)}})
	require.NoError(t, err)
	second := res.Events[0]

	latest, err := f.Latest(t.Context(), stream, []string{"seat:A1", "seat:A9", "seat:A2"})
	require.NoError(t, err)
	assert.Equal(t, []eventstore.Event{other, second}, latest)
	for upTo, want := range map[int64]eventstore.Event{2: first, 3: first, 4: second, 99: second} {
		got, err := f.LatestAt(t.Context(), stream, "seat:A1", upTo)
		require.NoError(t, err)
		assert.Equal(t, want, got, upTo)
	}
	_, err = f.LatestAt(t.Context(), stream, "seat:A1", 1)
	require.ErrorIs(t, err, eventstore.ErrNotFound)

	read, err := f.Read(t.Context(), stream, 2, 1)
	require.NoError(t, err)
	assert.Equal(t, []eventstore.Event{other}, read)
	read, err = f.Read(t.Context(), stream, 4, 10)
	require.NoError(t, err)
	assert.Empty(t, read)
	for _, limit := range []int{0, 10_001} {
		_, err = f.Read(t.Context(), stream, 0, limit)
		require.ErrorIs(t, err, eventstore.ErrInvalid)
	}

	heads, err := f.Heads(t.Context(), []uuid.UUID{stream, uuid.New()})
	require.NoError(t, err)
	assert.Equal(t, map[uuid.UUID]eventstore.Position{stream: {Seq: 4, Event: second.ID}}, heads.Positions)
	assert.False(t, heads.Now.Before(second.At))
	heads, err = f.Heads(t.Context(), []uuid.UUID{})
	require.NoError(t, err)
	assert.Empty(t, heads.Positions)
	require.NoError(t, f.Ping(t.Context()))
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	require.NoError(t, eventstore.Config{}.WithDefaults().Validate())
	require.NoError(t, eventstore.PoolConfig{}.WithDefaults().Validate())
	for _, cfg := range []eventstore.Config{
		{Lanes: -1}, {Lanes: 65}, {MaxBatch: -1}, {MaxBatch: 4097}, {Lanes: 3, Queue: 2}, {AppendTimeout: -1}, {LookupTimeout: -1},
	} {
		require.Error(t, cfg.WithDefaults().Validate(), "%+v", cfg)
	}
	for _, cfg := range []eventstore.PoolConfig{
		{MaxConns: -1}, {ConnectTimeout: -1}, {StatementTimeout: -1}, {LockTimeout: -1},
	} {
		_, err := eventstore.NewPool(t.Context(), "postgres://localhost/", cfg)
		require.Error(t, err, "%+v", cfg)
	}
	_, err := eventstore.NewPool(t.Context(), "not a URL %", eventstore.PoolConfig{})
	require.Error(t, err)
}

// Whatever body is let through, the database takes, and gives back byte by byte.
func TestWhateverBodyIsLetThroughIsKept(t *testing.T) {
	t.Parallel()
	store := newStore(t, eventstore.Config{})
	stream := store.stream(t)
	keep := func(t require.TestingT, body string) {
		e := event(uuid.NewString(), 0)
		e.Data = json.RawMessage(body)
		res, err := store.Append(context.Background(), eventstore.Request{Stream: stream, Events: []eventstore.NewEvent{e}})
		if err != nil {
			require.ErrorIs(t, err, eventstore.ErrInvalid)
			return
		}
		read, err := store.Read(context.Background(), stream, res.Seq-1, 1)
		require.NoError(t, err)
		require.Equal(t, body, string(read[0].Data))
	}
	for _, body := range []string{
		`{"a": "\u0000"}`, `{"a": "\ud800"}`, `{"a":1,"a":2}`, `{"a":1e400,"b":-0}`, `{}  `, `{"":""}`, "{\"a\":\"\u2028\x7f\"}",
		strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000),
	} {
		keep(t, body)
	}
	pieces := []string{`{`, `}`, `[`, `]`, `:`, `,`, `"`, `\u0000`, `\udc00`, `\n`, `"a"`, `1`, `-0`, `1e999`, `.5`, `null`, `true`, " ", "\n", "é", "\xff", "\x00"}
	rapid.Check(t, func(rt *rapid.T) {
		inner := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(rt, "pieces"), "")
		for _, body := range []string{inner, `{"a":` + inner + `}`, `{"a":"` + inner + `"}`} {
			keep(rt, body)
		}
	})
}
