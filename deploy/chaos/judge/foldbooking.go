package judge

import (
	"maps"
	"slices"

	"github.com/google/uuid"
)

// applyBooking takes in a booking's own event.
func (s *fold) applyBooking(e *event) {
	body, err := decodeBooking(e)
	if err != nil {
		s.wrong(Unjudged, "%v", e, err)
		return
	}
	b, ok := s.bookings[body.Booking]
	if !ok {
		b = &booked{id: body.Booking, session: body.Session, showing: s.showing, steps: map[int64]step{}}
		s.bookings[body.Booking] = b
	}
	if body.Session != b.session {
		s.wrong(NoTwoOwners, "session %s has a booking of session %s", e, body.Session, b.session)
	}
	if invariant, what := b.may(body, e); what != "" {
		s.wrong(invariant, "from %q with %v until %s to %q (%s) with %v until %s at %s: %s", e, b.state, b.seats, clock(b.deadline),
			body.State, body.Why, body.Seats, clock(e.deadline), clock(e.at), what)
	}
	b.steps[e.seq] = step{kind: e.kind, state: body.State, before: b.seats, seats: body.Seats, why: body.Why}
	b.state, b.seats, b.deadline, b.seq = body.State, body.Seats, e.deadline, e.seq
	s.touched[b.id] = true
}

// may says what is wrong with a booking's change.
func (b *booked) may(body bookingChange, e *event) (invariant, what string) {
	want := map[string]string{
		typeHeld: stateHeld, typeAdded: stateHeld, typeGivenBack: stateHeld,
		typeConfirmed: stateConfirmed, typeReleased: stateReleased, typeExpired: stateExpired,
	}
	state, known := want[e.kind]
	switch {
	case !known:
		return Unjudged, "an event of a kind that is not known"
	case state != body.State:
		return NothingLost, "the event's type says something else"
	case e.kind == typeHeld && b.state != "":
		return NoTwoOwners, "a booking is held once"
	case e.kind != typeHeld && b.state != stateHeld:
		return NoTwoOwners, "only a hold can change"
	}
	if invariant, what = b.inTime(e); what != "" {
		return invariant, what
	}
	if e.kind != typeExpired && body.Who != body.Session {
		return NoTwoOwners, "done by session " + body.Who.String()
	}
	if !b.seatsFit(body, e.kind) {
		return NothingLost, "these seats don't follow from those"
	}
	return "", ""
}

// inTime says what is wrong with the time of a change, and with the deadline that it leaves.
func (b *booked) inTime(e *event) (invariant, what string) {
	past := !e.at.Before(b.deadline)
	switch e.kind {
	case typeHeld:
		if !e.at.Before(e.deadline) {
			return DeadlinesKept, "a hold that ends before it begins"
		}
	case typeExpired:
		if !past {
			return DeadlinesKept, "expired before the hold's end"
		}
	default:
		if past {
			return DeadlinesKept, "changed after the hold's end"
		}
		if (e.kind == typeAdded || e.kind == typeGivenBack) && !e.deadline.Equal(b.deadline) {
			return DeadlinesKept, "the hold's end was moved"
		}
	}
	return "", ""
}

// seatsFit says whether the seats after an event are what it makes of those before.
func (b *booked) seatsFit(body bookingChange, kind string) bool {
	missing := func(some, from []string) int {
		return len(slices.DeleteFunc(slices.Clone(some), func(seat string) bool { return slices.Contains(from, seat) }))
	}
	switch kind {
	case typeHeld:
		return len(body.Seats) > 0
	case typeAdded:
		return missing(b.seats, body.Seats) == 0
	case typeGivenBack:
		return len(body.Seats) > 0 && missing(body.Seats, b.seats) == 0 && missing(b.seats, body.Seats) == 1
	case typeConfirmed:
		return sameSeats(body.Seats, b.seats)
	default: // released, expired
		return len(body.Seats) == 0
	}
}

// sale says whether the booking was sold, whatever became of it then.
func (b *booked) sale() bool {
	for _, s := range b.steps {
		if s.kind == typeConfirmed {
			return true
		}
	}
	return false
}

// bookingsOf are the bookings of several showings.
func bookingsOf(folds map[uuid.UUID]*fold) map[uuid.UUID]*booked {
	all := map[uuid.UUID]*booked{}
	for _, s := range folds {
		maps.Copy(all, s.bookings)
	}
	return all
}
