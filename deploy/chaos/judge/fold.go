package judge

import (
	"time"

	"github.com/google/uuid"
)

// tenure is a time in which a booking had a seat: from the event that gave it until it lost it or, if that came
// first, its hold ran out.
type tenure struct {
	booking uuid.UUID
	status  string
	from    time.Time
	to      time.Time // zero: for ever
}

// seat is a seat as of the events so far.
type seat struct {
	status   string
	booking  uuid.UUID
	deadline time.Time
	tenures  []tenure
}

// step is what one of its events made of a booking.
type step struct {
	kind          string
	state         string
	before, seats []string
	why           string
}

// booked is a booking as of the events so far.
type booked struct {
	id, session, showing uuid.UUID
	state                string
	seats                []string
	deadline             time.Time
	seq                  int64
	// steps are those of its events, by seq.
	steps map[int64]step
}

// fold reads one showing's events in order and notes whatever may not follow.
type fold struct {
	f        *findings
	showing  uuid.UUID
	head     int64
	last     uuid.UUID
	latest   map[string]int64
	seats    map[string]*seat
	bookings map[uuid.UUID]*booked
	// holder is the hold of each session.
	holder map[uuid.UUID]uuid.UUID
	// at is when the latest events were appended, and touched are the bookings that they changed: what one
	// append writes has to fit together when it is complete, in whatever order it was written.
	at      time.Time
	touched map[uuid.UUID]bool
}

func newFold(f *findings, showing uuid.UUID) *fold {
	return &fold{
		f: f, showing: showing, latest: map[string]int64{}, seats: map[string]*seat{},
		bookings: map[uuid.UUID]*booked{}, holder: map[uuid.UUID]uuid.UUID{}, touched: map[uuid.UUID]bool{},
	}
}

func (s *fold) wrong(invariant, what string, e *event, args ...any) {
	s.f.add(invariant, "showing %s, event %d (%s of %s): "+what, append([]any{s.showing, e.seq, e.kind, e.entity}, args...)...)
}

// apply takes in the next event.
func (s *fold) apply(e *event) {
	if !e.at.Equal(s.at) {
		s.settle()
		s.at = e.at
	}
	if e.seq != s.head+1 {
		s.wrong(NothingLost, "follows event %d", e, s.head)
	}
	if prev := s.latest[e.entity]; e.prev != prev {
		s.wrong(NoTwoOwners, "names %d as the latest event of its entity, which is %d", e, e.prev, prev)
	}
	s.head, s.last = e.seq, e.id
	s.latest[e.entity] = e.seq
	switch {
	case e.kind == typeSeat && isSeat(e.entity):
		s.applySeat(e)
	case isBooking(e.entity):
		s.applyBooking(e)
	case e.kind == typeOpened && e.seq == 1:
	default:
		s.wrong(Unjudged, "an event of a kind that is not known", e)
	}
}

func (s *fold) applySeat(e *event) {
	body, err := decodeSeat(e)
	if err != nil {
		s.wrong(Unjudged, "%v", e, err)
		return
	}
	at, ok := s.seats[body.Seat]
	if !ok {
		at = &seat{status: available}
		s.seats[body.Seat] = at
	}
	if body.Previous != at.status {
		s.wrong(NoTwoOwners, "was %s, and says that it was %s", e, at.status, body.Previous)
	}
	if invariant, what := at.may(body, e); what != "" {
		s.wrong(invariant, "%s, from %s of %s until %s to %s (%s) of %s at %s: %s", e, body.Seat,
			at.status, at.booking, clock(at.deadline), body.Current, body.Why, body.Booking, clock(e.at), what)
	}
	s.touched[body.Booking] = true
	if at.booking != uuid.Nil {
		s.touched[at.booking] = true
	}
	at.become(body, e)
}

// may says what is wrong with a seat's change: the transitions that are legal, each with its reason and its time.
func (at *seat) may(body seatChange, e *event) (invariant, what string) {
	past := !at.deadline.IsZero() && !e.at.Before(at.deadline)
	same := body.Booking == at.booking
	switch at.status + "→" + body.Current {
	case available + "→" + statusHeld:
		if body.Why != whyHold {
			return NoTwoOwners, "no reason for a hold"
		}
	case statusHeld + "→" + statusHeld:
		switch {
		case body.Why != whyTakeover || same:
			return NoTwoOwners, "someone else holds it"
		case !past:
			return NoTwoOwners, "taken over before the hold's end"
		}
	case statusHeld + "→" + statusSold:
		switch {
		case body.Why != whyConfirm || !same:
			return NoTwoOwners, "someone else holds it"
		case past:
			return DeadlinesKept, "sold after the hold's end"
		}
	case statusHeld + "→" + available:
		return at.mayFree(body, same, past)
	case statusSold + "→" + available:
		if body.Why != whyRefund || !same {
			return NothingLost, "a sale ends by a refund only"
		}
	default:
		return NoTwoOwners, "no such change is possible"
	}
	if body.Current == statusHeld && !e.at.Before(e.deadline) {
		return DeadlinesKept, "a hold that ends before it begins"
	}
	return "", ""
}

func (at *seat) mayFree(body seatChange, same, past bool) (invariant, what string) {
	own := body.Why == whyGiveBack || body.Why == whyRelease
	ranOut := body.Why == whyExpire || body.Why == whyTakeover
	switch {
	case !same:
		return NoTwoOwners, "someone else holds it"
	case !own && !ranOut:
		return NoTwoOwners, "no reason to end a hold"
	case own && past:
		return DeadlinesKept, "given up after the hold's end"
	case ranOut && !past:
		return DeadlinesKept, "expired before the hold's end"
	}
	return "", ""
}

func (at *seat) become(body seatChange, e *event) {
	if n := len(at.tenures); n > 0 && (at.tenures[n-1].to.IsZero() || e.at.Before(at.tenures[n-1].to)) {
		at.tenures[n-1].to = e.at
	}
	at.status, at.booking, at.deadline = body.Current, uuid.Nil, time.Time{}
	if body.Current == available {
		return
	}
	at.booking = body.Booking
	if body.Current == statusHeld {
		at.deadline = e.deadline
	}
	at.tenures = append(at.tenures, tenure{booking: body.Booking, status: body.Current, from: e.at, to: at.deadline})
}

// settle checks that the bookings which the last append changed have the seats that they say, and no others.
func (s *fold) settle() {
	if len(s.touched) == 0 {
		return
	}
	has := map[uuid.UUID][]string{}
	for name, at := range s.seats {
		if s.touched[at.booking] {
			has[at.booking] = append(has[at.booking], name)
		}
	}
	for id := range s.touched {
		s.settleBooking(id, has[id])
	}
	clear(s.touched)
}

func (s *fold) settleBooking(id uuid.UUID, has []string) {
	b, ok := s.bookings[id]
	if !ok {
		s.f.add(NoTwoOwners, "showing %s, up to event %d: seats %v belong to booking %s, which never was", s.showing, s.head, has, id)
		return
	}
	live := b.state == stateHeld || b.state == stateConfirmed
	want := b.seats
	if !live {
		want = nil
	}
	if !sameSeats(has, want) {
		s.f.add(NoTwoOwners, "showing %s, up to event %d: booking %s is %s and has %v, but the seats that are its are %v",
			s.showing, s.head, id, b.state, b.seats, has)
		return
	}
	status := statusHeld
	if b.state == stateConfirmed {
		status = statusSold
	}
	for _, name := range want {
		at := s.seats[name]
		if at.status != status || (status == statusHeld && !at.deadline.Equal(b.deadline)) {
			s.f.add(NoTwoOwners, "showing %s, up to event %d: booking %s is %s until %s, but its seat %s is %s until %s",
				s.showing, s.head, id, b.state, clock(b.deadline), name, at.status, clock(at.deadline))
		}
	}
	s.oneHold(b)
}

// oneHold checks that a session has no other hold here.
func (s *fold) oneHold(b *booked) {
	if b.state != stateHeld {
		return
	}
	if other, ok := s.bookings[s.holder[b.session]]; ok && other != b && other.state == stateHeld {
		s.f.add(NoTwoOwners, "showing %s, up to event %d: session %s holds both %s and %s", s.showing, s.head, b.session, other.id, b.id)
	}
	s.holder[b.session] = b.id
}
