package seatmap

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// crowd makes the events of holds and releases of two seats, three events each, without end.
type crowd struct {
	showing uuid.UUID
	codes   []booking.Seat
	seq     int64
	turns   int
}

func (c *crowd) next(b *testing.B) []eventstore.Event {
	b.Helper()
	first := c.turns / 2 * 2 % len(c.codes)
	id := uuid.NewSHA1(c.showing, []byte{byte(c.turns / 2), byte(c.turns / 512)})
	status, state, kind := booking.Held, booking.StateHeld, booking.TypeBookingHeld
	if c.turns%2 == 1 {
		status, state, kind = booking.Available, booking.StateReleased, booking.TypeBookingReleased
	}
	c.turns++
	seats := c.codes[first : first+2]
	var events []eventstore.Event
	for _, seat := range seats {
		c.seq++
		events = append(events, seatEvent(b, c.showing, c.seq, seat, status))
	}
	c.seq++
	data, err := json.Marshal(booking.BookingChanged{Booking: id, State: state, Seats: seats})
	require.NoError(b, err)
	return append(events, eventstore.Event{
		Stream: c.showing, Seq: c.seq, ID: uuid.New(), Entity: booking.BookingEntity(id), Type: kind,
		Data: data, At: time.Now(), Deadline: time.Now().Add(time.Minute),
	})
}

// BenchmarkProjectorHandle is one append of three events to a showing of 60 seats: the fold, the
// snapshot's encoding and the script.
func BenchmarkProjectorHandle(b *testing.B) {
	h := newHouse(b)
	r := newReign(h.projector(b, ProjectorConfig{}, h.store), lease(7, time.Minute))
	c := &crowd{showing: uuid.New(), codes: h.codes}
	require.NoError(b, r.Reset(b.Context(), c.showing, "l"))
	events := 0
	for b.Loop() {
		b.StopTimer()
		batch := c.next(b)
		events += len(batch)
		b.StartTimer()
		if err := r.Handle(b.Context(), c.showing, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

func benchShow(b *testing.B) (*show, *crowd) {
	b.Helper()
	h := &house{}
	for _, row := range "ABCDEFGHIJKL" {
		for _, number := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"} {
			h.codes = append(h.codes, booking.Seat(string(row)+number))
		}
	}
	s := newShow(uuid.New(), h.codes, &zipper{}, time.Now())
	s.replace("l", booking.NewState(), time.Now())
	return s, &crowd{showing: s.id, codes: h.codes}
}

// BenchmarkApply is one append of three events, applied to a map of 240 seats.
func BenchmarkApply(b *testing.B) {
	s, c := benchShow(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		events := c.next(b)
		b.StartTimer()
		s.apply("l", events)
	}
}

// BenchmarkSince is the delta of the latest append.
func BenchmarkSince(b *testing.B) {
	s, c := benchShow(b)
	for range 1000 {
		s.apply("l", c.next(b))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.since("l", c.seq-3); !ok {
			b.Fatal("not covered")
		}
	}
}

// BenchmarkSnapshot is a snapshot that was made already, as nearly all are.
func BenchmarkSnapshot(b *testing.B) {
	s, c := benchShow(b)
	s.apply("l", c.next(b))
	b.ReportAllocs()
	for b.Loop() {
		s.current().JSON()
	}
}

// BenchmarkSnapshotAfterChange is a snapshot of 240 seats that has to be encoded and compressed.
func BenchmarkSnapshotAfterChange(b *testing.B) {
	s, c := benchShow(b)
	s.apply("l", c.next(b))
	b.ReportAllocs()
	for b.Loop() {
		s.changed()
		s.current().Gzip()
	}
}

// BenchmarkLoadFromSnapshot is a map's first load with the snapshot in Redis at the log's head.
func BenchmarkLoadFromSnapshot(b *testing.B) {
	h := newHouse(b)
	showing := h.showing(b)
	for range 10 {
		id := uuid.New()
		h.sell(b, showing, hold(id, "A1", "A2"))
		h.sell(b, showing, release(id, "A1", "A2"))
	}
	h.lead(b, ProjectorConfig{}, lease(7, time.Minute))
	h.awaitStored(b, showing, 61)
	l := h.live(b, LiveConfig{})
	for b.Loop() {
		if _, _, _, err := l.fetch(b.Context(), showing, false); err != nil {
			b.Fatal(err)
		}
	}
}
