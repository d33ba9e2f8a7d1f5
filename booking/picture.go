package booking

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// picture is what one command is judged by: first this replica's map, which may lag, then, entity by
// entity, what the log said. A refusal counts only when it rests on the log; what passes, the guard judges.
type picture struct {
	showing uuid.UUID
	// wanted are the seats that the command is about, and own the booking.
	wanted []Seat
	own    uuid.UUID
	// needsOwn says that own must exist: the command changes it.
	needsOwn bool
	// session is whose command it is.
	session uuid.UUID
	// mayBeOver says that a deadline has come, or may have.
	mayBeOver func(deadline time.Time) bool

	seats    map[Seat]seatFact
	bookings map[uuid.UUID]bookingFact
	// ending are holds that the command must end although it wants none of their seats.
	ending []uuid.UUID
	// repeated says that the map may have seen this command's booking before.
	repeated bool
	// appended says that the log has looked at the command, and so for an earlier outcome of it.
	appended bool
	// fromLog says that the map is known to lag or to be missing: what is still unknown, the log is asked.
	fromLog bool
	// old says that the map is too old to refuse anybody by.
	old bool
}

type seatFact struct {
	SeatState
	// who is the session that held the seat, when the log told.
	who  uuid.UUID
	sure bool
}

// bookingFact is a booking that has seats, or the state in which it ended; the empty state is one
// that never was.
type bookingFact struct {
	Live
	sure bool
}

func (s *Service) newPicture(showing, session, own uuid.UUID) *picture {
	return &picture{
		showing: showing, session: session, own: own,
		mayBeOver: func(deadline time.Time) bool { return !s.clock.surelyBefore(deadline) },
		seats:     map[Seat]seatFact{}, bookings: map[uuid.UUID]bookingFact{},
	}
}

// see takes in what the map shows, wherever the log hasn't spoken.
func (p *picture) see(asked []Seat, v View) {
	p.old = v.Old
	for seat, state := range v.Seats {
		p.seeSeat(seat, state)
	}
	for _, seat := range asked {
		p.seeSeat(seat, v.Seats[seat])
	}
	for id, live := range v.Bookings {
		if !p.bookings[id].sure {
			p.bookings[id] = bookingFact{Live: live}
		}
	}
	_, live := v.Bookings[p.own]
	p.repeated = p.repeated || live || v.MayHaveEnded
}

func (p *picture) seeSeat(seat Seat, state SeatState) {
	if p.seats[seat].sure {
		return
	}
	if state.Status == "" {
		state.Status = Available
	}
	p.seats[seat] = seatFact{SeatState: state}
}

// learn takes in events that the log named as the latest of their entities.
func (p *picture) learn(events ...eventstore.Event) error {
	for _, e := range events {
		if err := p.learnOne(e); err != nil {
			return fmt.Errorf("booking: event %d of %s (%s): %w", e.Seq, e.Stream, e.Type, err)
		}
	}
	return nil
}

func (p *picture) learnOne(e eventstore.Event) error {
	switch {
	case strings.HasPrefix(e.Entity, seatPrefix):
		body, state, err := readSeat(e)
		if err != nil {
			return err
		}
		p.seats[body.Seat] = seatFact{SeatState: state, who: body.Who, sure: true}
	case strings.HasPrefix(e.Entity, bookingPrefix):
		id, body, err := readBooking(e)
		if err != nil {
			return err
		}
		live := liveOf(e, body)
		live.GivenBack = p.bookings[id].GivenBack
		p.bookings[id] = bookingFact{Live: live, sure: true}
		p.repeated = p.repeated || id == p.own
	}
	return nil
}

// missing are the entities that the command can't be judged or written without: the seats it wants and
// who has them on hold, its own booking, and all seats of the bookings that it changes.
func (p *picture) missing() (seats []Seat, bookings []uuid.UUID) {
	needBooking := func(id uuid.UUID) {
		if _, ok := p.bookings[id]; !ok && !slices.Contains(bookings, id) {
			bookings = append(bookings, id)
		}
	}
	needSeat := func(seat Seat) {
		if _, ok := p.seats[seat]; !ok && !slices.Contains(seats, seat) {
			seats = append(seats, seat)
		}
	}
	if p.needsOwn || (p.fromLog && !p.appended) {
		needBooking(p.own)
	}
	for _, id := range p.ending {
		needBooking(id)
	}
	for _, seat := range p.wanted {
		needSeat(seat)
		if fact := p.seats[seat]; p.needsHolder(fact) {
			needBooking(fact.Booking)
		}
	}
	for id, fact := range p.bookings {
		if fact.State == StateHeld && p.changes(id) {
			for _, seat := range fact.Seats {
				needSeat(seat)
			}
		}
	}
	return seats, bookings
}

// needsHolder says that the booking that holds a seat matters: it may be over, or be the session's own. Of
// any other it is enough to know that it has the seat.
func (p *picture) needsHolder(fact seatFact) bool {
	if fact.Status != Held || fact.Booking == p.own {
		return false
	}
	return !fact.sure || fact.who == p.session || p.mayBeOver(fact.Deadline)
}

// changes says whether the command may have to change the booking.
func (p *picture) changes(id uuid.UUID) bool {
	if id == p.own {
		return p.needsOwn
	}
	return slices.Contains(p.ending, id) || slices.ContainsFunc(p.wanted, func(seat Seat) bool {
		return p.seats[seat].Status == Held && p.seats[seat].Booking == id
	})
}

// nothingBut marks what the log was asked about and has no event of.
func (p *picture) nothingBut(seats []Seat, bookings []uuid.UUID) {
	for _, seat := range seats {
		if !p.seats[seat].sure {
			p.seats[seat] = seatFact{SeatState: SeatState{Status: Available}, sure: true}
		}
	}
	for _, id := range bookings {
		if !p.bookings[id].sure {
			p.bookings[id] = bookingFact{sure: true}
		}
	}
}

// sure says whether the log has spoken about everything that a refusal may rest on.
func (p *picture) sure() bool {
	if p.needsOwn && !p.bookings[p.own].sure {
		return false
	}
	return !slices.ContainsFunc(p.wanted, func(seat Seat) bool { return !p.seats[seat].sure })
}

// forget drops what only the map said, so that the log is asked about it.
func (p *picture) forget() {
	p.fromLog = true
	for seat, fact := range p.seats {
		if !fact.sure {
			delete(p.seats, seat)
		}
	}
	for id, fact := range p.bookings {
		if !fact.sure {
			delete(p.bookings, id)
		}
	}
}

// startOver drops everything: the log doesn't even have what was believed to be in it.
func (p *picture) startOver() {
	clear(p.seats)
	clear(p.bookings)
	p.fromLog = true
}

// entities names seats and bookings as the log does.
func entities(seats []Seat, bookings []uuid.UUID) []string {
	names := make([]string, 0, len(seats)+len(bookings))
	for _, seat := range seats {
		names = append(names, SeatEntity(seat))
	}
	for _, id := range bookings {
		names = append(names, BookingEntity(id))
	}
	return names
}
