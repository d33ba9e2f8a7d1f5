package judge

import (
	"slices"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// judgeClaims looks up in the log what each client was told.
func (r *record) judgeClaims(ops []history.Op) {
	for i := range ops {
		op := &ops[i]
		rows := r.commands[commandKey{op.Session, op.Key}]
		if len(rows) > 1 {
			r.f.add(SameAnswer, "%s: the log has %d outcomes of key %q", tell(op), len(rows), op.Key)
		}
		switch {
		case op.Outcome == history.OK && len(rows) == 0:
			r.acknowledgedOnly(op)
		case op.Outcome == history.OK:
			r.acknowledged(op, rows[0])
		case !isOpen(op) && len(rows) > 0:
			r.f.add(RefusalsTrue, "%s: the log has it as done, with status %d, at %d", tell(op), rows[0].status, rows[0].seq)
		}
	}
}

// acknowledgedOnly is about an acknowledged command that the log has no outcome of: only one that changes nothing may
// leave no trace, and that is to release what is released already.
func (r *record) acknowledgedOnly(op *history.Op) {
	b := r.bookings[op.Booking]
	if op.Kind == history.Release && b != nil && b.state == stateReleased {
		return
	}
	r.f.add(NothingLost, "%s: acknowledged, and not in the log", tell(op))
}

// acknowledged compares an acknowledged command with what the log recorded of it.
func (r *record) acknowledged(op *history.Op, row commandRow) {
	b := r.bookings[row.booking]
	if b == nil {
		r.f.add(NothingLost, "%s: the log's outcome is about booking %s, which has no event", tell(op), row.booking)
		return
	}
	s, ok := b.steps[row.seq]
	if !ok {
		r.f.add(NothingLost, "%s: event %d, the log's outcome, is not one of booking %s", tell(op), row.seq, b.id)
		return
	}
	if b.showing != op.Showing || b.session != op.Session || row.showing != op.Showing || row.status != op.Status ||
		(op.Booking != uuid.Nil && op.Booking != b.id) || (op.Seq != 0 && op.Seq != row.seq) {
		r.f.add(SameAnswer, "%s: answered %d, booking %s at %d, and the log has %d, booking %s of session %s at %d of showing %s",
			tell(op), op.Status, op.Booking, op.Seq, row.status, b.id, b.session, row.seq, row.showing)
	}
	if op.Kind == history.Release {
		return
	}
	if op.State != s.state || !sameSeats(op.After, s.seats) {
		r.f.add(NothingLost, "%s: answered %s with %v, and the log has %s with %v", tell(op), op.State, op.After, s.state, s.seats)
	}
	if op.Kind == history.Confirm && b.state != stateConfirmed && b.state != "refunded" {
		r.f.add(NothingLost, "%s: sold, and by now the booking is %s", tell(op), b.state)
	}
}

// judgeOrigins asks of everything in the log who asked for it: each change of a booking, but its running out, is the
// outcome of one command, and that command is one that somebody sent and was not refused, for these seats.
func (r *record) judgeOrigins(ops []history.Op) {
	asked := make(map[commandKey]*history.Op, len(ops))
	for i := range ops {
		asked[commandKey{ops[i].Session, ops[i].Key}] = &ops[i]
	}
	type where struct {
		booking uuid.UUID
		seq     int64
	}
	explained := map[where]bool{}
	for key, rows := range r.commands {
		for _, row := range rows {
			explained[where{row.booking, row.seq}] = true
			r.origin(key, row, asked[key])
		}
	}
	for id, b := range r.bookings {
		for seq, s := range b.steps {
			if s.kind != typeExpired && !explained[where{id, seq}] {
				r.f.add(NothingLost, "booking %s: event %d (%s with %v) is no command's outcome", id, seq, s.kind, s.seats)
			}
		}
	}
}

func (r *record) origin(key commandKey, row commandRow, op *history.Op) {
	if op == nil {
		r.f.add(NothingLost, "session %s, key %q: in the log, about booking %s at %d, and nobody asked for it", key.session, key.key, row.booking, row.seq)
		return
	}
	b := r.bookings[row.booking]
	if b == nil {
		r.f.add(NothingLost, "%s: its outcome in the log is about booking %s, which has no event", tell(op), row.booking)
		return
	}
	if s, ok := b.steps[row.seq]; ok && !s.is(op) {
		r.f.add(NothingLost, "%s: its outcome in the log is another: %s, from %v to %v", tell(op), s.kind, s.before, s.seats)
	}
}

// is says whether the step is what the command asks for.
func (s step) is(op *history.Op) bool {
	switch op.Kind {
	case history.Hold:
		return s.kind == typeHeld && sameSeats(s.seats, op.Seats)
	case history.Add:
		all := slices.Clone(s.before)
		for _, seat := range op.Seats {
			if !slices.Contains(all, seat) {
				all = append(all, seat)
			}
		}
		return s.kind == typeAdded && sameSeats(s.seats, all)
	case history.GiveBack:
		rest := slices.DeleteFunc(slices.Clone(s.before), func(seat string) bool { return slices.Contains(op.Seats, seat) })
		return (s.kind == typeGivenBack || s.kind == typeReleased) && s.why == whyGiveBack && sameSeats(s.seats, rest)
	case history.Confirm:
		return s.kind == typeConfirmed && sameSeats(s.seats, op.Seats)
	case history.Release:
		return s.kind == typeReleased && s.why == whyRelease
	default:
		return false
	}
}
