package eventstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/eventstore"
)

// Random batches against a model that judges one request after the other. What must hold: each verdict is the
// model's; the numbers of what passed follow the head without a gap; each entity's chain is unbroken; a session
// has one hold a stream; and the database in the end is what the model says.
func TestBatchesAgreeWithAModel(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t, f)
		for range rapid.IntRange(1, 4).Draw(rt, "batches") {
			requests := make([]eventstore.Request, rapid.IntRange(1, 9).Draw(rt, "requests"))
			m.limits = rapid.Bool().Draw(rt, "limits")
			for i := range requests {
				requests[i] = m.draw(rt)
			}
			want := make([]string, len(requests))
			for i := range requests {
				want[i] = m.judge(requests[i])
			}
			answers, stats := f.AppendBatch(t.Context(), requests...)
			require.NoError(rt, stats.Err)
			got := make([]string, len(answers))
			for i, a := range answers {
				got[i] = kind(a)
			}
			require.Equal(rt, want, got)
			m.settle(rt, requests, answers)
		}
		m.compare(t, rt, f)
	})
}

// model is the log as it should be. A request that passes is entered at once, and its numbers once they are known.
type model struct {
	streams  []uuid.UUID
	sessions []uuid.UUID
	address  string // limited to three seats
	// limits says that holds of the present batch may be limited. Then none of the address ends: what ends and what
	// begins in the same batch may be judged in either order.
	limits   bool
	heads    map[uuid.UUID]int64
	latest   map[place]int64 // of an entity; pendingSeq until the batch is answered
	commands map[commandKey]eventstore.Command
	bookings map[uuid.UUID]*eventstore.Booking
	own      map[uuid.UUID]string // booking → its entity
	log      map[uuid.UUID][]eventstore.Event
}

type (
	place struct {
		stream uuid.UUID
		entity string
	}
	commandKey struct {
		session uuid.UUID
		key     string
	}
)

const pendingSeq = -1

func newModel(t *testing.T, f fixture) *model {
	t.Helper()
	m := &model{
		streams:  []uuid.UUID{f.stream(t), f.stream(t)},
		sessions: []uuid.UUID{uuid.New(), uuid.New(), uuid.New()},
		address:  uuid.NewString(),
		heads:    map[uuid.UUID]int64{}, latest: map[place]int64{}, commands: map[commandKey]eventstore.Command{},
		bookings: map[uuid.UUID]*eventstore.Booking{}, own: map[uuid.UUID]string{}, log: map[uuid.UUID][]eventstore.Event{},
	}
	for _, s := range m.streams {
		m.heads[s] = 1
	}
	return m
}

func (m *model) draw(rt *rapid.T) eventstore.Request {
	req := eventstore.Request{Stream: rapid.SampledFrom(m.streams).Draw(rt, "stream")}
	if rapid.IntRange(0, 19).Draw(rt, "elsewhere") == 0 {
		req.Stream = uuid.New()
	}
	session := rapid.SampledFrom(m.sessions).Draw(rt, "session")
	if rapid.Bool().Draw(rt, "command") {
		req.Command = eventstore.Command{
			Session: session, Key: rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(rt, "key"),
			Route: rapid.SampledFrom([]string{"r", "r", "other"}).Draw(rt, "route"),
		}
	}
	if rapid.IntRange(0, 9).Draw(rt, "late") == 0 {
		req.Checks = []eventstore.Check{{From: time.Unix(0, 0)}, {Before: time.Unix(1, 0)}}
	}
	seats := rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 1, 3, rapid.ID[int]).Draw(rt, "seats")
	for _, n := range seats {
		req.Events = append(req.Events, m.drawEvent(rt, req.Stream, fmt.Sprint("seat:", n)))
	}
	switch rapid.IntRange(0, 3).Draw(rt, "booking") {
	case 0, 1:
		m.drawHold(rt, &req, session, len(seats))
	case 2:
		m.drawEnd(rt, &req)
	}
	return req
}

// drawEvent names mostly the right event before it.
func (m *model) drawEvent(rt *rapid.T, stream uuid.UUID, entity string) eventstore.NewEvent {
	prev := m.latest[place{stream, entity}]
	if rapid.IntRange(0, 7).Draw(rt, "stale") == 0 {
		prev = rapid.Int64Range(0, m.heads[stream]).Draw(rt, "prev")
	}
	e := event(entity, prev)
	e.ID = uuid.New()
	return e
}

func (m *model) drawHold(rt *rapid.T, req *eventstore.Request, session uuid.UUID, seats int) {
	id := uuid.New()
	own := m.drawEvent(rt, req.Stream, "booking:"+id.String())
	own.Prev = 0
	own.Deadline.In = time.Hour
	req.Events = append(req.Events, own)
	change := eventstore.BookingChange{
		ID: id, Session: session, Entity: own.Entity, Held: true, State: "held", Seats: seats,
	}
	if m.limits && rapid.Bool().Draw(rt, "limited") {
		change.Address, req.MaxHeldSeats = m.address, 3
	}
	req.Bookings = append(req.Bookings, change)
}

// drawEnd ends a booking that the model knows, if there is one in the stream.
func (m *model) drawEnd(rt *rapid.T, req *eventstore.Request) {
	var ids []uuid.UUID
	for id, b := range m.bookings {
		if b.Stream == req.Stream && (!m.limits || b.Address == "") {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return int(m.bookings[a].Seq - m.bookings[b].Seq) })
	id := rapid.SampledFrom(ids).Draw(rt, "ended")
	own := m.drawEvent(rt, req.Stream, m.own[id])
	if own.Prev == 0 {
		own.Prev = m.heads[req.Stream] // a booking's first event would make a row
	}
	req.Events = append(req.Events, own)
	req.Bookings = append(req.Bookings, eventstore.BookingChange{
		ID: id, Session: m.bookings[id].Session, Entity: own.Entity, State: "released",
	})
}

// judge is the published order of judging; what passes is entered.
func (m *model) judge(req eventstore.Request) string {
	key := commandKey{req.Command.Session, req.Command.Key}
	if first, ok := m.commands[key]; ok && key.key != "" {
		if first.Route == req.Command.Route {
			return "replayed"
		}
		return "mismatch"
	}
	if m.heads[req.Stream] == 0 {
		return "no stream"
	}
	if len(req.Checks) > 0 {
		return "check"
	}
	for _, e := range req.Events {
		if e.Prev != m.latest[place{req.Stream, e.Entity}] {
			return "guard"
		}
	}
	for _, c := range req.Bookings {
		if c.Held && m.holds(req, c.Session) {
			return "held"
		}
	}
	if req.MaxHeldSeats > 0 && m.seatsOf(m.address)+req.Bookings[0].Seats > req.MaxHeldSeats {
		return "address"
	}
	m.enter(req)
	return "passed"
}

func (m *model) holds(req eventstore.Request, session uuid.UUID) bool {
	for id, b := range m.bookings {
		ends := slices.ContainsFunc(req.Bookings, func(c eventstore.BookingChange) bool { return c.ID == id && !c.Held })
		if b.Held && b.Session == session && b.Stream == req.Stream && !ends {
			return true
		}
	}
	return false
}

func (m *model) seatsOf(address string) int {
	n := 0
	for _, b := range m.bookings {
		if b.Held && b.Address == address {
			n += b.Seats
		}
	}
	return n
}

func (m *model) enter(req eventstore.Request) {
	if req.Command.Key != "" {
		m.commands[commandKey{req.Command.Session, req.Command.Key}] = req.Command
	}
	for _, e := range req.Events {
		m.latest[place{req.Stream, e.Entity}] = pendingSeq
	}
	for _, c := range req.Bookings {
		m.bookings[c.ID] = &eventstore.Booking{
			ID: c.ID, Stream: req.Stream, Session: c.Session, Held: c.Held, State: c.State, Seats: c.Seats, Address: c.Address,
		}
		m.own[c.ID] = c.Entity
	}
}

// settle checks the numbers of what passed and enters them.
func (m *model) settle(rt *rapid.T, requests []eventstore.Request, answers []eventstore.Answer) {
	numbers := map[uuid.UUID][]int64{}
	for i, a := range answers {
		req := requests[i]
		for j, e := range a.Result.Events {
			require.Equal(rt, a.Result.Events[0].Seq+int64(j), e.Seq, "a request's events are together")
			numbers[req.Stream] = append(numbers[req.Stream], e.Seq)
			m.latest[place{req.Stream, e.Entity}] = e.Seq
			m.log[req.Stream] = append(m.log[req.Stream], e)
		}
		for _, c := range req.Bookings {
			if len(a.Result.Events) > 0 {
				m.bookings[c.ID].Seq = m.latest[place{req.Stream, c.Entity}]
				if c.Held {
					m.bookings[c.ID].Deadline = a.Result.Now.Add(time.Hour)
				}
			}
		}
	}
	for stream, list := range numbers {
		slices.Sort(list)
		for i, n := range list {
			require.Equal(rt, m.heads[stream]+int64(i)+1, n, "no gap, nothing twice")
		}
		m.heads[stream] += int64(len(list))
	}
}

// compare reads the database back.
func (m *model) compare(t *testing.T, rt *rapid.T, f fixture) {
	t.Helper()
	heads, err := f.Heads(t.Context(), m.streams)
	require.NoError(rt, err)
	for _, stream := range m.streams {
		read, err := f.Read(t.Context(), stream, 1, 1000)
		require.NoError(rt, err)
		want := m.log[stream]
		slices.SortFunc(want, func(a, b eventstore.Event) int { return int(a.Seq - b.Seq) })
		require.Len(rt, read, len(want))
		chain := map[string]int64{}
		for i, e := range read {
			require.Equal(rt, want[i], e)
			require.Equal(rt, chain[e.Entity], e.Prev, "%s is an unbroken chain", e.Entity)
			chain[e.Entity] = e.Seq
		}
		require.Equal(rt, m.heads[stream], heads.Positions[stream].Seq)
		if len(read) > 0 {
			require.Equal(rt, read[len(read)-1].ID, heads.Positions[stream].Event)
		}
	}
	for id, want := range m.bookings {
		got, latest, err := f.Booking(t.Context(), id)
		require.NoError(rt, err)
		require.Equal(rt, *want, got)
		require.Equal(rt, want.Seq, latest.Seq)
	}
	for key, want := range m.commands {
		got, err := f.Recorded(t.Context(), key.session, key.key)
		require.NoError(rt, err)
		require.Equal(rt, want, got.Command)
	}
}

func kind(a eventstore.Answer) string {
	switch {
	case a.Err == nil && a.Result.Replayed != nil:
		return "replayed"
	case a.Err == nil:
		return "passed"
	case errors.Is(a.Err, eventstore.ErrMismatch):
		return "mismatch"
	case errors.Is(a.Err, eventstore.ErrNoStream):
		return "no stream"
	case errors.As(a.Err, new(*eventstore.CheckError)):
		return "check"
	case errors.As(a.Err, new(*eventstore.GuardError)):
		return "guard"
	case errors.As(a.Err, new(*eventstore.HeldError)), errors.Is(a.Err, eventstore.ErrAgain):
		return "held"
	case errors.Is(a.Err, eventstore.ErrAddressLimit):
		return "address"
	default:
		return a.Err.Error()
	}
}

// A herd wants one seat, in one batch: it takes two steps, not one for each.
func TestHerdIsRefusedTogether(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	stream := f.stream(t)
	herd := make([]eventstore.Request, 250)
	for i := range herd {
		herd[i] = hold(stream, uuid.New(), uuid.New(), "seat:A1", fmt.Sprint("seat:", i))
	}
	answers, stats := f.AppendBatch(t.Context(), herd...)
	require.NoError(t, stats.Err)
	assert.Equal(t, "passed", kind(answers[0]))
	for _, a := range answers[1:] {
		assert.Equal(t, "guard", kind(a))
	}
	read, err := f.Read(t.Context(), stream, 0, 10)
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 2, 3, 4}, seqs(read))
}

// A flush takes so many rounds and leaves the rest to the next one: nobody holds a stream for long.
func TestLongQueueForOneThingIsSpreadOverFlushes(t *testing.T) {
	t.Parallel()
	flushes := make(chan eventstore.FlushStats, 100)
	f := idleStore(t, eventstore.Config{OnFlush: func(s eventstore.FlushStats) { flushes <- s }})
	stream, session := f.stream(t), uuid.New()
	answers := make(chan error, 100)
	for i := range 100 {
		go func() {
			_, err := f.Append(t.Context(), hold(stream, session, uuid.New(), fmt.Sprint("seat:", i)))
			answers <- err
		}()
	}
	require.Eventually(t, func() bool { return f.Queued() == 100 }, soon, time.Millisecond)
	runUntilEnd(t, f.Run)
	passed := 0
	for range 100 {
		err := <-answers
		if err == nil {
			passed++
			continue
		}
		require.ErrorAs(t, err, new(*eventstore.HeldError))
	}
	assert.Equal(t, 1, passed)
	first := <-flushes
	assert.Equal(t, 32, first.Requests)
	assert.Equal(t, 32, first.Rounds)
	assert.Equal(t, 32, (<-flushes).Requests)
}
