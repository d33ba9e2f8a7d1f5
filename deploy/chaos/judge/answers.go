package judge

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// answers judges each booking's answers by themselves: the same booking in all of them, the hold's end unchanged, what
// was asked for and nothing else.
func (all owners) answers(f *findings, holdFor time.Duration) {
	for _, o := range all.all {
		for _, op := range o.ops {
			o.sameBooking(f, op)
			o.deadlineKept(f, op, holdFor)
			if op.Outcome == history.OK {
				o.askedFor(f, op)
			}
		}
	}
}

func (o *owner) sameBooking(f *findings, op *history.Op) {
	if op.Booking != uuid.Nil && op.Booking != o.booking {
		f.add(SameAnswer, "%s: was booking %s, and now is %s", tell(op), o.booking, op.Booking)
	}
}

func (o *owner) deadlineKept(f *findings, op *history.Op, holdFor time.Duration) {
	if op.Outcome == history.Refused && op.Problem == slugExpired && op.Return.UnixNano() < o.deadlineNanos() {
		f.add(DeadlinesKept, "%s: the hold lasts until %s", tell(op), clock(o.deadline))
	}
	if op.Outcome != history.OK {
		return
	}
	if !op.Expires.IsZero() && !op.Expires.Equal(o.deadline) {
		f.add(DeadlinesKept, "%s: the hold's end was %s before", tell(op), clock(o.deadline))
	}
	if op.Kind == history.Hold && holdFor > 0 && !op.Expires.IsZero() {
		least, most := op.Call.UnixNano()+int64(holdFor-rounding), op.Return.UnixNano()+int64(holdFor)
		if end := op.Expires.UnixNano(); end < least || end > most {
			f.add(DeadlinesKept, "%s: a hold lasts %v", tell(op), holdFor)
		}
	}
	late := o.deadlineNanos() != 0 && op.Call.UnixNano() >= o.deadlineNanos()
	// A booking that was released before it ran out may be released again at any time.
	if late && op.Kind != history.Hold && op.Kind != history.Release {
		f.add(DeadlinesKept, "%s: the hold ended at %s", tell(op), clock(o.deadline))
	}
}

func (o *owner) askedFor(f *findings, op *history.Op) {
	state, seats := "held", true
	switch op.Kind {
	case history.Hold:
		seats = sameSeats(op.After, op.Seats)
	case history.Add:
		seats = !slices.ContainsFunc(op.Seats, func(seat string) bool { return !slices.Contains(op.After, seat) })
	case history.GiveBack:
		seats = !slices.ContainsFunc(op.Seats, func(seat string) bool { return slices.Contains(op.After, seat) })
		if len(op.After) == 0 {
			state = "released"
		}
	case history.Confirm:
		state, seats = "confirmed", sameSeats(op.After, op.Seats)
	case history.Release: // its answer has no booking
		return
	}
	if op.State != state {
		f.add(SameAnswer, "%s: answered a booking that is %q, not %q", tell(op), op.State, state)
	}
	if !seats {
		f.add(SameAnswer, "%s: answered a booking of %v", tell(op), op.After)
	}
}

// sameSeats says whether both name the same seats, in whatever order.
func sameSeats(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, bySeat)
	slices.SortFunc(b, bySeat)
	return slices.Equal(a, b)
}
