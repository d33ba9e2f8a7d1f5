package judge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// evening is a log in which everything happens that may.
func evening() *ledger {
	l := newLedger()
	l.wait(time.Second)
	l.hold("ann", "A1", "A2")
	l.add("ann", "A3")
	l.refuse("bob", map[string]string{"A3": "held"}, "A3", "A4")
	l.giveBack("ann", "A2")
	l.hold("cleo", "A2")
	l.confirm("ann")
	l.refuse("bob", map[string]string{"A1": "sold"}, "A1")
	l.release("cleo")
	l.hold("dora", "B1", "B2", "B3")
	l.wait(holdFor)
	l.hold("eve", "B2", "A2") // takes over what dora's hold no longer has
	l.hold("fred", "C1")
	l.wait(holdFor)
	l.sweep("fred")
	l.wait(time.Second)
	l.hold("gus", "C1")
	l.giveBack("gus", "C1")
	return l
}

func TestLogAcceptsWhatIsRight(t *testing.T) {
	t.Parallel()
	l := evening()
	conn := l.write(t)
	found, summary, err := judge.Log(t.Context(), conn, l.ops)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, judge.LogSummary{
		Log: "k3f9", Showings: 1, Events: len(l.events), Bookings: 6, Sales: 1, SeatsSold: 2, Commands: 11,
	}, summary)
	require.Empty(t, judge.Seats(l.ops, holdFor), "what the log says is right is right for its clients, too")

	maps, err := judge.Maps(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]judge.Map{l.showing: {
		Log: "k3f9", Seq: int64(len(l.events)), Event: l.events[len(l.events)-1].id, Open: true,
		Seats: map[string]string{
			"A1": "sold", "A2": "held", "A3": "sold", "B1": "available", "B2": "held", "B3": "available", "C1": "available",
		},
	}}, maps)
}

func TestLogFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tamper func(l *ledger)
		want   []string // the invariants that are broken …
		detail string   // … and what one of the violations says
	}{
		"an acknowledged sale is not in the log": {
			tamper: func(l *ledger) {
				sale := l.op("ann", history.Confirm)
				l.commands = slices.DeleteFunc(l.commands, func(c ledgerCommand) bool { return c.key == sale.Key })
				l.drop(func(e *ledgerEvent) bool { return e.data["why"] == "confirm" })
			},
			// Others were refused what was not sold, then.
			want:   []string{judge.NothingLost, judge.RefusalsTrue},
			detail: "acknowledged, and not in the log",
		},
		"a sale that nobody asked for": {
			tamper: func(l *ledger) {
				l.ops = slices.DeleteFunc(l.ops, func(op history.Op) bool { return op.Kind == history.Confirm })
			},
			want:   []string{judge.NothingLost},
			detail: "nobody asked for it",
		},
		"a sale that no command explains": {
			tamper: func(l *ledger) {
				sale := l.op("ann", history.Confirm)
				l.commands = slices.DeleteFunc(l.commands, func(c ledgerCommand) bool { return c.key == sale.Key })
				unanswered(sale)
			},
			want:   []string{judge.NothingLost},
			detail: "is no command's outcome",
		},
		"a confirm that was refused, but sold": {
			tamper: func(l *ledger) { refused(l.op("ann", history.Confirm), 503, "unavailable", "") },
			want:   []string{judge.RefusalsTrue},
			detail: "the log has it as done",
		},
		"other seats than were acknowledged": {
			tamper: func(l *ledger) { l.op("cleo", history.Hold).After = []string{"A4"} },
			want:   []string{judge.NothingLost},
			detail: "answered held with [A4], and the log has held with [A2]",
		},
		"other seats than were asked for, and no answer": {
			tamper: func(l *ledger) {
				op := l.op("gus", history.Hold)
				unanswered(op)
				op.Seats = []string{"C2"}
			},
			want:   []string{judge.NothingLost},
			detail: "its outcome in the log is another",
		},
		"another place in the log than was answered": {
			tamper: func(l *ledger) { l.op("ann", history.Confirm).Seq-- },
			want:   []string{judge.SameAnswer},
		},
		"another status at the retry": {
			tamper: func(l *ledger) { l.commands[0].status = 200 },
			want:   []string{judge.SameAnswer},
		},
		"two outcomes of one key": {
			tamper: func(l *ledger) { l.commands = append(l.commands, l.commands[0]) },
			want:   []string{judge.SameAnswer},
			detail: "the log has 2 outcomes",
		},
		"a gap in the numbers": {
			tamper: func(l *ledger) {
				for i := range l.events {
					if e := &l.events[i]; e.seq > 5 {
						e.seq++
					}
					if e := &l.events[i]; e.prev > 5 {
						e.prev++
					}
				}
			},
			detail: "follows event 5",
		},
		"a head that is not the last event": {
			tamper: func(l *ledger) { l.heads[l.showing]++ },
			want:   []string{judge.NothingLost},
			detail: "its head is",
		},
		"sold twice, past the guard": {
			tamper: func(l *ledger) {
				thief := &ledgerBooking{id: idOf("booking of thief"), session: idOf("thief"), state: "held", seats: []string{"A1"}, deadline: l.now.Add(holdFor)}
				l.latest["seat:A1"] = l.event("SeatStatusChanged", "seat:A1", 0).seq // as if the sale had not been
				l.seat(thief, "A1", "held", "held", "takeover", thief.deadline)
				l.booking(thief, "BookingHeld", "hold", thief.session)
				l.index = append(l.index, thief)
				l.holds["thief"] = thief
				l.done("thief", thief, history.Hold, 201, "A1")
				l.confirm("thief")
			},
			want:   []string{judge.NoTwoOwners},
			detail: "as the latest event of its entity, which is",
		},
		"taken over before the hold's end": {
			tamper: func(l *ledger) {
				for _, kind := range []string{"seat:B1", "seat:B2", "seat:B3"} {
					l.event("SeatStatusChanged", kind, 0).deadline = l.now
				}
				l.event("BookingHeld", "booking:"+l.holds["dora"].id.String(), 0).deadline = l.now
			},
			want:   []string{judge.NoTwoOwners, judge.DeadlinesKept},
			detail: "taken over before the hold's end",
		},
		"sold after the hold's end": {
			tamper: func(l *ledger) {
				early := l.event("SeatStatusChanged", "seat:A1", 0).at.Add(2500 * time.Millisecond)
				for i := range l.events {
					if e := &l.events[i]; e.deadline.Equal(l.holds["ann"].deadline) {
						e.deadline = early
					}
				}
			},
			want:   []string{judge.DeadlinesKept},
			detail: "sold after the hold's end",
		},
		"added, and the hold lasts longer": {
			tamper: func(l *ledger) {
				added := l.event("BookingSeatsAdded", "booking:"+l.holds["ann"].id.String(), 0)
				added.deadline = added.deadline.Add(time.Minute)
			},
			want:   []string{judge.NoTwoOwners, judge.DeadlinesKept},
			detail: "the hold's end was moved",
		},
		"swept before its end": {
			tamper: func(l *ledger) {
				for i := range l.events {
					if e := &l.events[i]; e.data["why"] == "expire" {
						e.at = e.at.Add(-2 * time.Second)
					}
				}
			},
			want:   []string{judge.DeadlinesKept},
			detail: "expired before the hold's end",
		},
		"a sale that ends without a refund": {
			tamper: func(l *ledger) {
				b := l.holds["ann"]
				l.seat(b, "A1", "sold", "available", "release", time.Time{})
			},
			want:   []string{judge.NoTwoOwners, judge.NothingLost},
			detail: "a sale ends by a refund only",
		},
		"a booking of seats that are not its": {
			tamper: func(l *ledger) {
				held := l.event("BookingHeld", "booking:"+l.holds["eve"].id.String(), 0)
				held.data["seats"] = []string{"B2", "A2", "D1"}
				l.holds["eve"].seats = []string{"B2", "A2", "D1"}
				l.op("eve", history.Hold).After = []string{"B2", "A2", "D1"}
				l.op("eve", history.Hold).Seats = []string{"B2", "A2", "D1"}
			},
			want:   []string{judge.NoTwoOwners},
			detail: "but the seats that are its are",
		},
		"one session with two holds": {
			tamper: func(l *ledger) {
				b := &ledgerBooking{id: idOf("another booking of eve"), session: idOf("eve"), state: "held", seats: []string{"E1"}, deadline: l.now.Add(holdFor)}
				l.holds["eve"].deadline = l.now.Add(holdFor)
				l.seat(b, "E1", "available", "held", "hold", b.deadline)
				l.booking(b, "BookingHeld", "hold", b.session)
				l.index = append(l.index, b)
				l.done("eve", b, history.Hold, 201, "E1").Owner = "eve again"
			},
			want:   []string{judge.NoTwoOwners, judge.NothingLost},
			detail: "holds both",
		},
		"an index that lags": {
			tamper: func(l *ledger) { l.holds["ann"].state = "held" },
			want:   []string{judge.NothingLost},
			detail: "the index has held",
		},
		"a booking that the index lacks": {
			tamper: func(l *ledger) {
				l.index = slices.DeleteFunc(l.index, func(b *ledgerBooking) bool { return b == l.holds["ann"] })
			},
			want:   []string{judge.NothingLost},
			detail: "is not in the index",
		},
		"refused a seat that nobody had": {
			tamper: func(l *ledger) { l.refuse("hal", map[string]string{"D1": "held"}, "D1") },
			want:   []string{judge.RefusalsTrue},
			detail: "says that D1 is held, and nobody had it then",
		},
		"refused a seat that was free for long": {
			tamper: func(l *ledger) {
				l.wait(3 * time.Second)
				l.refuse("hal", map[string]string{"C1": "held"}, "C1")
			},
			want:   []string{judge.RefusalsTrue},
			detail: "says that C1 is held, and nobody had it then",
		},
		"refused as sold what was held": {
			tamper: func(l *ledger) { l.refuse("hal", map[string]string{"B2": "sold"}, "B2") },
			want:   []string{judge.RefusalsTrue},
		},
		"an event of a kind that is not known": {
			tamper: func(l *ledger) { l.append("seat:A1", "SeatPainted", map[string]any{}, time.Time{}) },
			want:   []string{judge.Unjudged},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := evening()
			c.tamper(l)
			found, _, err := judge.Log(t.Context(), l.write(t), l.ops)
			require.NoError(t, err)
			require.NotEmpty(t, found)
			if c.want != nil {
				require.Equal(t, c.want, broken(found), "%v", found)
			}
			told := slices.ContainsFunc(found, func(v judge.Violation) bool { return strings.Contains(v.Detail, c.detail) })
			require.True(t, told, "%v", found)
		})
	}
}

// A command without an answer may have been done, or not: the log may have it either way.
func TestLogUnanswered(t *testing.T) {
	t.Parallel()
	l := evening()
	for i := range l.ops {
		if l.ops[i].Outcome == history.OK {
			unanswered(&l.ops[i])
		}
	}
	l.ops = append(l.ops, history.Op{
		Session: idOf("zoe"), Showing: l.showing, Owner: "zoe", Key: "never came", Kind: history.Hold, Seats: []string{"A1"},
		Call: l.now, Outcome: history.Unknown, Attempts: 1,
	})
	found, _, err := judge.Log(t.Context(), l.write(t), l.ops)
	require.NoError(t, err)
	require.Empty(t, found)
}

// To release what is released already changes nothing, and leaves no trace.
func TestLogReleasedTwice(t *testing.T) {
	t.Parallel()
	l := evening()
	again := *l.op("cleo", history.Release)
	again.Key, again.Call, again.Return = "cleo-again", l.now, l.now.Add(time.Millisecond)
	l.ops = append(l.ops, again)
	found, _, err := judge.Log(t.Context(), l.write(t), l.ops)
	require.NoError(t, err)
	require.Empty(t, found)
}
