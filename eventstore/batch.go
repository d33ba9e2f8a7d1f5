package eventstore

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// batch is the arguments of append_batch: one slice a parameter, in the order of the function's
// declaration. What each means is said there.
type batch struct {
	rounds  int32
	limited bool

	round   []int32
	repeats []bool
	stream  [][16]byte
	events  []int32
	last    [][16]byte
	session [][16]byte
	key     []string
	route   []string
	body    [][]byte
	booking [][16]byte
	status  []int32
	from    []pgtype.Timestamptz
	before  []pgtype.Timestamptz
	maxHeld []int32

	eventRequest  []int32
	eventPlace    []int32
	eventID       [][16]byte
	eventEntity   []string
	eventPrev     []int64
	eventType     []string
	eventData     []string
	eventDeadline []pgtype.Timestamptz
	eventSpan     []pgtype.Interval

	bookingRequest  []int32
	bookingPlace    []int32
	bookingNew      []bool
	bookingID       [][16]byte
	bookingSession  [][16]byte
	bookingHeld     []bool
	bookingState    []string
	bookingSeats    []int32
	bookingAddress  []string
	bookingDeadline []pgtype.Timestamptz
	bookingSpan     []pgtype.Interval
}

// newBatch lays out requests, which are in arrival order.
func newBatch(requests []Request) *batch {
	p := newPlan(requests)
	b := &batch{rounds: p.last, round: p.rounds, repeats: p.repeats}
	for i := range requests {
		b.addRequest(&requests[i])
	}
	return b
}

func (b *batch) addRequest(r *Request) {
	from, before := window(r.Checks)
	b.stream = append(b.stream, r.Stream)
	b.events = append(b.events, int32(len(r.Events))) //nolint:gosec // at most MaxEvents
	b.last = append(b.last, r.Events[len(r.Events)-1].ID)
	b.session = append(b.session, r.Command.Session)
	b.key = append(b.key, r.Command.Key)
	b.route = append(b.route, r.Command.Route)
	b.body = append(b.body, r.Command.Body[:])
	b.booking = append(b.booking, r.Command.Booking)
	b.status = append(b.status, int32(r.Command.Status)) //nolint:gosec // checked by normalize
	b.from = append(b.from, instant(from))
	b.before = append(b.before, instant(before))
	b.maxHeld = append(b.maxHeld, int32(r.MaxHeldSeats)) //nolint:gosec // checked by normalize
	b.limited = b.limited || r.MaxHeldSeats > 0

	request := int32(len(b.stream)) //nolint:gosec // at most MaxBatch
	for i := range r.Events {
		b.addEvent(request, int32(i), &r.Events[i])
	}
	for i := range r.Bookings {
		b.addBooking(request, r, &r.Bookings[i])
	}
}

func (b *batch) addEvent(request, at int32, e *NewEvent) {
	b.eventRequest = append(b.eventRequest, request)
	b.eventPlace = append(b.eventPlace, at)
	b.eventID = append(b.eventID, e.ID)
	b.eventEntity = append(b.eventEntity, e.Entity)
	b.eventPrev = append(b.eventPrev, e.Prev)
	b.eventType = append(b.eventType, e.Type)
	b.eventData = append(b.eventData, string(e.Data))
	b.eventDeadline = append(b.eventDeadline, instant(e.Deadline.At))
	b.eventSpan = append(b.eventSpan, span(e.Deadline.In))
}

func (b *batch) addBooking(request int32, r *Request, c *BookingChange) {
	at := place(r.Events, c.Entity)
	e := &r.Events[at]
	b.bookingRequest = append(b.bookingRequest, request)
	b.bookingPlace = append(b.bookingPlace, int32(at)) //nolint:gosec // at most MaxEvents
	b.bookingNew = append(b.bookingNew, e.Prev == 0)
	b.bookingID = append(b.bookingID, c.ID)
	b.bookingSession = append(b.bookingSession, c.Session)
	b.bookingHeld = append(b.bookingHeld, c.Held)
	b.bookingState = append(b.bookingState, c.State)
	b.bookingSeats = append(b.bookingSeats, int32(c.Seats)) //nolint:gosec // checked by normalize
	b.bookingAddress = append(b.bookingAddress, c.Address)
	b.bookingDeadline = append(b.bookingDeadline, instant(e.Deadline.At))
	b.bookingSpan = append(b.bookingSpan, span(e.Deadline.In))
}

// args are the parameters of queries/append.sql.
func (b *batch) args() []any {
	return []any{
		b.rounds, b.limited, b.round, b.repeats, b.stream, b.events, b.last, b.session, b.key, b.route, b.body, b.booking, b.status,
		b.from, b.before, b.maxHeld,
		b.eventRequest, b.eventPlace, b.eventID, b.eventEntity, b.eventPrev, b.eventType, b.eventData,
		b.eventDeadline, b.eventSpan,
		b.bookingRequest, b.bookingPlace, b.bookingNew, b.bookingID, b.bookingSession, b.bookingHeld,
		b.bookingState, b.bookingSeats, b.bookingAddress, b.bookingDeadline, b.bookingSpan,
	}
}

func instant(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

func span(d time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: d.Microseconds(), Valid: d != 0}
}
