package seatmap

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// projection is one showing as its leader has projected it.
type projection struct {
	id uuid.UUID

	// used and loaded belong to the reign's mu: when the state was last used, and that there is one.
	used   int64
	loaded bool

	mu sync.Mutex
	// header is what the snapshot's should be. Its position is zero before the first event.
	header
	// state is nil when it has to be loaded first.
	state *booking.State
	// unwritten says that Redis doesn't have what header says.
	unwritten bool
	// ahead is how many refreshes in a row found a newer seq in Redis.
	ahead int
	// summed says that the summary was told.
	summed bool
	// broken says that the next event can't be read: the showing stands still.
	broken bool
}

// advance applies events in order, and finds the locks that they set free: those of seats that the
// booking which had them no longer has. The events that were new are applied, up to one that can't be read.
func (p *projection) advance(events []eventstore.Event) (applied []eventstore.Event, freed []freedLock, err error) {
	for _, e := range events {
		if e.Seq <= p.state.Seq {
			continue
		}
		seat, owner := p.holder(e.Entity)
		if err := p.state.Apply(e); err != nil {
			return applied, freed, err
		}
		applied = append(applied, e)
		if owner != uuid.Nil && p.state.Seats[seat].Booking != owner {
			freed = append(freed, freedLock{seat: seat, owner: owner})
		}
	}
	return applied, freed, nil
}

// holder is the seat that an event is about and the booking that has it so far.
func (p *projection) holder(entity string) (booking.Seat, uuid.UUID) {
	prefix := len(booking.SeatEntity(""))
	if len(entity) <= prefix || entity[:prefix] != booking.SeatEntity("") {
		return "", uuid.Nil
	}
	seat := booking.Seat(entity[prefix:])
	return seat, p.state.Seats[seat].Booking
}

// sum brings the header up to the state.
func (p *projection) sum() {
	p.position = p.state.Position()
	p.taken, p.deadline = 0, time.Time{}
	for _, seat := range p.state.Seats {
		if seat.Status != booking.Available {
			p.taken++
		}
	}
	for _, b := range p.state.Bookings {
		if b.State == booking.StateHeld && (p.deadline.IsZero() || b.Deadline.Before(p.deadline)) {
			p.deadline = b.Deadline
		}
	}
}
