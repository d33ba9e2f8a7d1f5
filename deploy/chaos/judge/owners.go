package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// The slugs of the problems that say something about the owner's own booking.
const (
	slugExpired  = "hold-expired"
	slugNotHeld  = "booking-not-held"
	slugInFlight = "request-in-flight"
	slugTaken    = "seats-unavailable"
)

// isOpen says that nobody knows whether the command was done, or still will be.
func isOpen(op *history.Op) bool {
	return op.Outcome == history.Unknown || (op.Outcome == history.Refused && op.Problem == slugInFlight)
}

// owner is one booking as its client knows it.
type owner struct {
	number  int
	name    string
	booking uuid.UUID // of any answer
	// deadline is the hold's end of the earliest answer that has one; zero when none has.
	deadline time.Time
	ops      []*history.Op // by their call
}

type owners struct {
	all []*owner
}

func newOwners(ops []history.Op) owners {
	var all owners
	byName := map[string]*owner{}
	for i := range ops {
		op := &ops[i]
		o, ok := byName[op.Owner]
		if !ok {
			o = &owner{number: len(all.all), name: op.Owner}
			byName[op.Owner] = o
			all.all = append(all.all, o)
		}
		o.ops = append(o.ops, op)
	}
	for _, o := range all.all {
		slices.SortStableFunc(o.ops, func(a, b *history.Op) int { return a.Call.Compare(b.Call) })
		for _, op := range o.ops {
			if o.deadline.IsZero() && op.Outcome == history.OK {
				o.deadline = op.Expires
			}
			if o.booking == uuid.Nil {
				o.booking = op.Booking
			}
		}
	}
	return all
}

// deadlineNanos is the hold's end, 0 when it was never answered.
func (o *owner) deadlineNanos() int64 {
	if o.deadline.IsZero() {
		return 0
	}
	return o.deadline.UnixNano()
}

// seats are the moves of each seat, those left out that can't explain anything.
func (all owners) seats() map[place][]move {
	seats := map[place][]move{}
	for _, o := range all.all {
		for p, moves := range o.moves() {
			seats[p] = append(seats[p], needed(moves)...)
		}
	}
	for p, moves := range seats {
		if len(moves) == 0 {
			delete(seats, p)
		}
	}
	return seats
}

// moves are the owner's, by seat.
func (o *owner) moves() map[place][]move {
	moves := map[place][]move{}
	ended := 0
	for _, op := range o.ops {
		if op.Kind == history.Release || op.Kind == history.GiveBack {
			ended++
		}
	}
	for _, op := range o.ops {
		for seat, d := range deeds(op) {
			p := place{op.Showing, seat}
			moves[p] = append(moves[p], o.move(op, d, ended > 1))
		}
	}
	return moves
}

func (o *owner) move(op *history.Op, d deed, again bool) move {
	m := move{
		deed: d, owner: o.number, call: op.Call.UnixNano(), ret: op.Return.UnixNano(), deadline: o.deadlineNanos(),
		open: isOpen(op), first: op.Kind == history.Hold, again: again && op.Kind == history.Release, op: op,
	}
	if m.open {
		m.ret = never
	}
	return m
}

// deeds are what a command means to which seats; nothing when it was refused for a reason that says nothing about the
// owner's own seats.
func deeds(op *history.Op) map[string]deed {
	seats := map[string]deed{}
	all := func(d deed, some []string) {
		for _, seat := range some {
			seats[seat] = d
		}
	}
	own := op.Kind == history.Confirm || op.Kind == history.Release || op.Kind == history.GiveBack
	switch {
	case op.Outcome == history.OK || isOpen(op):
		if op.Outcome == history.OK && op.State == "held" {
			all(keep, op.After)
		}
		if op.Kind == history.Confirm {
			all(sell, op.After)
		}
		all(done(op.Kind), op.Seats)
	case op.Problem == slugExpired && own:
		all(lapse, op.Seats)
	case op.Problem == slugNotHeld && own && op.State == "confirmed":
		all(bought, op.Seats)
	case op.Problem == slugNotHeld && own && op.State != "":
		all(over, op.Seats)
	}
	return seats
}

func done(k history.Kind) deed {
	switch k {
	case history.Hold, history.Add:
		return take
	case history.GiveBack, history.Release:
		return free
	case history.Confirm:
		return sell
	default:
		panic("judge: unknown kind of command " + string(k))
	}
}

// needed leaves out, of an owner's moves on one seat, the open ones that can't help to explain an answer: they may
// just as well never have happened, and to leave them out keeps the search short.
//
// Only the owner's own answers need the seat to be the owner's; everyone else's need it free, or theirs. So an open take
// is needed only where a later answer of the owner's rests on it, an open sale where a later answer says so, and an open
// end of a hold where there was a hold. Once the deadline has come, others may take the seat in any case: an open end
// that no answer of the owner's follows matters until then only.
func needed(moves []move) []move {
	var some []move
	for _, m := range moves {
		follows := func(which func(move) bool) bool {
			return slices.ContainsFunc(moves, func(o move) bool { return !o.open && o.ret > m.call && which(o) })
		}
		switch {
		case !m.open:
		case m.deed == take && !follows(restsOnSeat), m.deed == sell && !follows(saysBought):
			continue
		case m.deed == free && !slices.ContainsFunc(moves, func(o move) bool { return o.deed == take && !o.open }):
			continue
		case m.deed == free && m.deadline != 0 && !follows(func(move) bool { return true }):
			m.ret = max(m.call, m.deadline)
		}
		some = append(some, m)
	}
	return some
}

func restsOnSeat(m move) bool {
	return m.deed == take || m.deed == keep || m.deed == sell || m.deed == bought || (m.deed == free && !m.again)
}

func saysBought(m move) bool { return m.deed == bought }

// tell is a command in words.
func tell(op *history.Op) string {
	until := "no answer"
	if !op.Return.IsZero() {
		until = clock(op.Return)
	}
	answer := string(op.Outcome)
	if op.Problem != "" {
		answer += fmt.Sprintf(" %d %s", op.Status, op.Problem)
	}
	text := fmt.Sprintf("%s %v by %s: %s, %s–%s", op.Kind, op.Seats, shorten(op.Owner), answer, clock(op.Call), until)
	if !op.Expires.IsZero() {
		text += ", hold until " + clock(op.Expires)
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000000") }

// shorten keeps what tells owners apart: the beginning of the session and the key.
func shorten(owner string) string {
	const most = 24
	if len(owner) <= most {
		return owner
	}
	return owner[:8] + "…" + owner[len(owner)-most+9:]
}

// bySeat sorts seats for people.
func bySeat(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
