package judge

import (
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// mapLag is how far behind the log the map may be by which a replica refuses at once: as long as its comparison with
// the heads takes at the most.
const mapLag = 2 * time.Second

// judgeRefusals asks of each seat that was refused because someone else has it whether someone had, at some time
// between mapLag before the call and the answer.
func (r *record) judgeRefusals(ops []history.Op) {
	for i := range ops {
		op := &ops[i]
		if op.Outcome != history.Refused || op.Problem != slugTaken {
			continue
		}
		if len(op.Conflicts) == 0 {
			r.f.add(RefusalsTrue, "%s: names no seat", tell(op))
		}
		for name, status := range op.Conflicts {
			if !r.taken(op, name, status) {
				r.f.add(RefusalsTrue, "%s: says that %s is %s, and nobody had it then", tell(op), name, status)
			}
		}
	}
}

// taken says whether another booking had the seat in the time of the command; one that says sold needs a sale.
func (r *record) taken(op *history.Op, name, status string) bool {
	s, ok := r.folds[op.Showing]
	if !ok {
		return false
	}
	at, ok := s.seats[name]
	if !ok {
		return false
	}
	from, to := op.Call.Add(-mapLag), op.Return
	for _, t := range at.tenures {
		others := op.Booking == uuid.Nil || t.booking != op.Booking
		if others && t.from.Before(to) && (t.to.IsZero() || t.to.After(from)) && (status != statusSold || t.status == statusSold) {
			return true
		}
	}
	return false
}
