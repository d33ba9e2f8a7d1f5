package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

const (
	// seatTime is how long one seat's history may take to be judged, and seatsTime all of them together.
	seatTime  = 5 * time.Second
	seatsTime = time.Minute
	// mostMoves is how many commands one seat's history may have: what the search remembers grows with its square.
	mostMoves = 10_000
	// mostTold is how many commands of a seat's history a violation tells of.
	mostTold = 6
)

// place is a seat at a showing.
type place struct {
	showing uuid.UUID
	seat    string
}

func (p place) String() string { return "seat " + p.seat + " of showing " + p.showing.String() }

// Seats judges what clients were told, by itself: whether there is an order of the commands, each done at one instant
// between its call and its return, in which every answer was right. See the package's description for the rules.
// holdFor is how long a hold lasts. Seats whose history takes too long to judge are violations of Unjudged.
func Seats(ops []history.Op, holdFor time.Duration) []Violation {
	var f findings
	all := newOwners(ops)
	all.answers(&f, holdFor)
	seats := all.seats()
	places := slices.SortedFunc(maps.Keys(seats), func(a, b place) int { return strings.Compare(a.String(), b.String()) })
	by := time.Now().Add(seatsTime)
	for _, p := range places {
		judgeSeat(&f, p, seats[p], holdFor, min(seatTime, time.Until(by)))
	}
	return f.all()
}

// CountSeats is how many seats have a history.
func CountSeats(ops []history.Op) int { return len(newOwners(ops).seats()) }

func judgeSeat(f *findings, p place, moves []move, holdFor, limit time.Duration) {
	if len(moves) > mostMoves {
		f.add(Unjudged, "%s: %d commands are more than %d", p, len(moves), mostMoves)
		return
	}
	if limit <= 0 {
		f.add(Unjudged, "%s: no time was left", p)
		return
	}
	operations := make([]porcupine.Operation, len(moves))
	for i, m := range moves {
		operations[i] = porcupine.Operation{ClientId: m.owner, Input: m, Call: m.call, Return: m.ret}
	}
	switch porcupine.CheckOperationsTimeout(model(holdFor), operations, limit) {
	case porcupine.Ok:
	case porcupine.Illegal:
		f.add(NoTwoOwners, "%s: %s", p, explain(operations, holdFor, limit))
	case porcupine.Unknown:
		f.add(Unjudged, "%s: no verdict on %d commands within %v", p, len(moves), limit)
	}
}

// explain tells how far the longest order comes that is right, and what can't follow it.
func explain(operations []porcupine.Operation, holdFor, limit time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(model(holdFor), operations, limit)
	var longest []int
	for _, partial := range info.PartialLinearizations() {
		for _, order := range partial {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	var told []string
	for _, i := range longest {
		told = append(told, tellMove(operations[i]))
	}
	if cut := len(told) - mostTold; cut > 0 {
		told = append([]string{fmt.Sprintf("… %d before", cut)}, told[cut:]...)
	}
	// The one that had to be next, since the others may still wait for their turn.
	next := -1
	for i := range operations {
		if !slices.Contains(longest, i) && (next < 0 || operations[i].Return < operations[next].Return) {
			next = i
		}
	}
	if next < 0 {
		return "no order of its commands is right"
	}
	return fmt.Sprintf("no order is right: after [%s] there can't be [%s]", strings.Join(told, "; "), tellMove(operations[next]))
}

func tellMove(o porcupine.Operation) string {
	return tell(o.Input.(move).op) //nolint:forcetypeassert // it was put there as one
}
