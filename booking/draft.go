package booking

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// draft is what one command wants to append, all of it or nothing.
type draft struct {
	order
	showing uuid.UUID
	// booking is the command's own; its event comes last.
	booking uuid.UUID

	events  []eventstore.NewEvent
	changes []eventstore.BookingChange
	checks  []eventstore.Check
	// failures say what a failed check means, one for each.
	failures []error
	// ended are the locks that the append makes pointless.
	ended []endedLock
	// limited says that the command takes seats, which an address may not do without end.
	limited bool
	// unopened is what it means that the showing has no stream.
	unopened error
	err      error
}

// endedLock are seats that a booking no longer has.
type endedLock struct {
	booking uuid.UUID
	seats   []Seat
}

func newDraft(o order, showing, booking uuid.UUID) *draft {
	return &draft{order: o, showing: showing, booking: booking, unopened: ErrNotFound}
}

// require adds a condition on the database's clock, and what its failure means.
func (d *draft) require(check eventstore.Check, failure error) {
	d.checks = append(d.checks, check)
	d.failures = append(d.failures, failure)
}

// requireSales asks that the showing be on sale when the append is judged.
func (d *draft) requireSales(show Showing) {
	closed := &SalesClosedError{OpensAt: show.OpensAt, ClosesAt: show.ClosesAt}
	d.require(eventstore.Check{From: show.OpensAt, Before: show.ClosesAt}, closed)
	d.unopened = closed
}

// failed is what the failure of a check means.
func (d *draft) failed(check int) error {
	if check < 0 || check >= len(d.failures) {
		return fmt.Errorf("booking: the log refused check %d of %d", check, len(d.failures))
	}
	return d.failures[check]
}

// seat adds a seat's event.
func (d *draft) seat(seat Seat, before SeatState, current Status, booking uuid.UUID, why Why, until eventstore.Deadline) {
	body := SeatStatusChanged{
		Booking: booking, Seat: seat, Previous: before.Status, Current: current, Why: why, Who: d.Session,
	}
	d.event(SeatEntity(seat), before.Seq, TypeSeatStatusChanged, body, until)
}

// changed adds the event of a booking, as it is afterwards, and its row in the index.
func (d *draft) changed(kind string, prev int64, body BookingChanged, until eventstore.Deadline) {
	if body.Seats == nil {
		body.Seats = []Seat{}
	}
	body.Who = d.Session
	entity := BookingEntity(body.Booking)
	d.event(entity, prev, kind, body, until)
	d.changes = append(d.changes, eventstore.BookingChange{
		ID: body.Booking, Session: body.Session, Entity: entity,
		Held: body.State == StateHeld, State: string(body.State), Seats: len(body.Seats),
	})
}

func (d *draft) event(entity string, prev int64, kind string, body any, until eventstore.Deadline) {
	data, err := json.Marshal(body)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("booking: event %s of %s: %w", kind, entity, err)
	}
	d.events = append(d.events, eventstore.NewEvent{
		ID: newEventID(), Entity: entity, Prev: prev, Type: kind, Data: data, Deadline: until,
	})
}

// end adds the end of a hold that ran out: its own event, and available for its seats but those kept
// for the command's own booking. The append then requires that the hold did run out.
func (d *draft) end(p *picture, id uuid.UUID, why Why, kept []Seat, notDue error) {
	hold := p.bookings[id]
	d.require(eventstore.Check{From: hold.Deadline}, notDue)
	d.changed(TypeBookingExpired, hold.Seq, BookingChanged{
		Booking: id, Session: hold.Session, State: StateExpired,
		Total: Money{Currency: hold.Total.Currency}, Why: why,
	}, eventstore.Deadline{})
	freed := without(hold.Seats, kept)
	d.free(p, id, freed, why)
}

// free adds available for a booking's seats.
func (d *draft) free(p *picture, id uuid.UUID, seats []Seat, why Why) {
	for _, seat := range seats {
		d.seat(seat, p.seats[seat].SeatState, Available, id, why, eventstore.Deadline{})
	}
	if len(seats) > 0 {
		d.ended = append(d.ended, endedLock{booking: id, seats: seats})
	}
}

// request is the draft as the log takes it. A limit of 0 is none, and then no address is kept.
func (d *draft) request(maxPerAddress int) (eventstore.Request, error) {
	if d.err != nil {
		return eventstore.Request{}, d.err
	}
	r := eventstore.Request{
		Stream: d.showing, Checks: d.checks, Events: d.events, Bookings: slices.Clone(d.changes),
	}
	if d.Key != "" {
		r.Command = eventstore.Command{
			Session: d.Session, Key: d.Key, Route: d.Route, Body: d.Body, Booking: d.booking, Status: d.status,
		}
	}
	if maxPerAddress == 0 || d.Address == "" {
		return r, nil
	}
	for i := range r.Bookings {
		if r.Bookings[i].ID == d.booking {
			r.Bookings[i].Address = d.Address
		}
	}
	if d.limited {
		r.MaxHeldSeats = maxPerAddress
	}
	return r, nil
}

// without are the seats that are not among those left out.
func without(seats, out []Seat) []Seat {
	var rest []Seat
	for _, seat := range seats {
		if !slices.Contains(out, seat) {
			rest = append(rest, seat)
		}
	}
	return rest
}

// newEventID is a version 7 UUID: ids made one after the other sort together in the log's index.
func newEventID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func until(t time.Time) eventstore.Deadline { return eventstore.Deadline{At: t} }
