package judge

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// never is later than every instant of a run, in Unix nanoseconds: the return of a command whose answer never came.
const never = math.MaxInt64

// rounding is how much later the database may find a hold to end than it does: its clock counts whole microseconds.
const rounding = time.Microsecond

// deed is what a command means to one seat.
type deed int

const (
	// take: the seat is held by the owner afterwards.
	take deed = iota
	// keep: the answer showed the seat as held by the owner.
	keep
	// free: the owner no longer has the seat.
	free
	// sell: the owner has bought the seat.
	sell
	// lapse: the answer was that the owner's hold had run out.
	lapse
	// bought: the answer was that the owner's booking is confirmed.
	bought
	// over: the answer was that the owner's booking is neither a hold nor confirmed.
	over
)

func (d deed) String() string {
	return [...]string{"take", "keep", "free", "sell", "find lapsed", "find bought", "find over"}[d]
}

// move is a command on one seat, in Unix nanoseconds.
type move struct {
	deed      deed
	owner     int
	call, ret int64
	// deadline is the end of the owner's hold as it was answered; 0 when it never was.
	deadline int64
	// open: nobody was told whether it was done. It may have been, at any time since, or never.
	open bool
	// first: it begins the owner's booking.
	first bool
	// again: the owner asked more than once, and the first time may have been the one that counted.
	again bool
	// op is the command.
	op *history.Op
}

// seatState is a seat between two moves.
type seatState struct {
	status owned
	owner  int
	// from is when others may take the seat over, until is when its owner's hold ends, both 0 unless held. They
	// differ when the deadline is not known: then each is what allows most.
	from, until int64
	// now is the earliest time that it can be.
	now int64
}

type owned int

const (
	unowned owned = iota
	held
	sold
)

// step is what a move makes of the seat; false when it can't have happened then.
//
// Whether there are instants for a sequence of moves, each within its call and return, in this order, and on the right
// side of each deadline, is decided by giving each the earliest that it can have: if that fails, all do.
func (s seatState) step(m move, holdFor time.Duration) (seatState, bool) {
	s.now = max(s.now, m.call)
	next, ok := s.do(m, holdFor)
	if ok && next.now <= m.ret {
		return next, true
	}
	// What nobody was told of may not have happened.
	return s, m.open
}

func (s seatState) do(m move, holdFor time.Duration) (seatState, bool) {
	mine := s.status != unowned && s.owner == m.owner
	heldByMe := s.status == held && mine && s.now < s.until
	switch m.deed {
	case take:
		return s.take(m, mine, holdFor)
	case keep:
		return s, heldByMe
	case free:
		if !heldByMe {
			return s, m.again && !mine
		}
		return seatState{now: s.now}, true
	case sell:
		return seatState{status: sold, owner: m.owner, now: s.now}, heldByMe
	case lapse:
		if s.status == held && mine {
			s.now = max(s.now, s.from)
		}
		s.now = max(s.now, m.deadline)
		return s, s.status != sold || !mine
	case bought:
		return s, s.status == sold && mine
	case over:
		return s, !mine
	default:
		return s, false
	}
}

func (s seatState) take(m move, mine bool, holdFor time.Duration) (seatState, bool) {
	switch {
	case s.status == sold:
		return s, false
	case s.status == held && mine:
		// A seat that the booking has already counts as added, and nothing changes.
		return s, !m.first && s.now < s.until
	case s.status == held:
		s.now = max(s.now, s.from)
	}
	next := seatState{status: held, owner: m.owner, now: s.now, from: m.deadline, until: m.deadline}
	if m.deadline == 0 {
		next.from, next.until = s.now+int64(holdFor-rounding), never
	}
	return next, s.now < next.until
}

// model is a seat to Porcupine.
func model(holdFor time.Duration) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return seatState{} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(seatState).step(input.(move), holdFor) //nolint:forcetypeassert // Porcupine hands back what it was given
			return ok, next
		},
	}
}
