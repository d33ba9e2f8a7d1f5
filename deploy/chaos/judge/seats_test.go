package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// holdFor is how long holds last in the histories of these tests.
const holdFor = 10 * time.Second

// story is a history made by hand, at one showing. Times are seconds after its beginning.
type story struct {
	showing uuid.UUID
	ops     []history.Op
}

func newStory() *story {
	return &story{showing: uuid.MustParse("5f000000-0000-4000-8000-000000000000")}
}

func second(s float64) time.Time {
	return time.Date(2026, 11, 30, 19, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

func idOf(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)) }

// op is a command of the booking that who has, answered with 2xx; unless the test changes it.
func (s *story) op(who string, kind history.Kind, call, ret float64, seats ...string) *history.Op {
	s.ops = append(s.ops, history.Op{
		Session: idOf(who), Showing: s.showing, Owner: who, Booking: idOf("booking of " + who),
		Key: who + "-" + string(kind) + "-" + second(call).Format("05.000"), Kind: kind, Seats: seats,
		Call: second(call), Return: second(ret), Outcome: history.OK, Status: 200, Attempts: 1, State: "held",
	})
	return &s.ops[len(s.ops)-1]
}

// hold is a hold that the database gave at a time between the call and the answer.
func (s *story) hold(who string, call, at, ret float64, seats ...string) *history.Op {
	op := s.op(who, history.Hold, call, ret, seats...)
	op.Status, op.After, op.Expires = 201, seats, second(at).Add(holdFor)
	return op
}

func (s *story) add(who string, call, ret float64, expires time.Time, after []string, seats ...string) *history.Op {
	op := s.op(who, history.Add, call, ret, seats...)
	op.After, op.Expires = after, expires
	return op
}

func (s *story) giveBack(who string, call, ret float64, expires time.Time, after []string, seat string) *history.Op {
	op := s.op(who, history.GiveBack, call, ret, seat)
	op.After, op.Expires = after, expires
	if len(after) == 0 {
		op.State, op.Expires = "released", time.Time{}
	}
	return op
}

func (s *story) confirm(who string, call, ret float64, seats ...string) *history.Op {
	op := s.op(who, history.Confirm, call, ret, seats...)
	op.State, op.After = "confirmed", seats
	return op
}

func (s *story) release(who string, call, ret float64, seats ...string) *history.Op {
	op := s.op(who, history.Release, call, ret, seats...)
	op.Status, op.State = 204, ""
	return op
}

func refused(op *history.Op, status int, problem, state string) {
	op.Outcome, op.Status, op.Problem, op.State, op.After, op.Expires = history.Refused, status, problem, state, nil, time.Time{}
}

// unanswered is a command whose answer never came.
func unanswered(op *history.Op) {
	op.Outcome, op.Status, op.State, op.After, op.Expires, op.Return = history.Unknown, 0, "", nil, time.Time{}, time.Time{}
}

// broken are the invariants that a history violates, each once.
func broken(found []judge.Violation) []string {
	var all []string
	for _, invariant := range judge.Invariants() {
		for _, v := range found {
			if v.Invariant == invariant {
				all = append(all, invariant)
				break
			}
		}
	}
	return all
}

func TestSeats(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tell func(s *story)
		want []string // the invariants that are broken
	}{
		"one buys and another is refused": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1", "A2")
			refused(s.op("bob", history.Hold, 1, 1.1, "A2"), 409, "seats-unavailable", "")
			s.confirm("ann", 2, 2.1, "A1", "A2")
		}},
		"two overlapping holds of one seat, both given": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 0.1, 0.15, 0.3, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"two overlapping holds of one of their seats, both given": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1", "A2")
			s.hold("bob", 0.1, 0.15, 0.3, "A2", "A3")
		}, want: []string{judge.NoTwoOwners}},
		"sold twice": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.confirm("ann", 1, 1.1, "A1")
			s.hold("bob", 20, 20.1, 20.2, "A1")
			s.confirm("bob", 21, 21.1, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"given back, and taken by another": {tell: func(s *story) {
			first := s.hold("ann", 0, 0.1, 0.2, "A1", "A2")
			s.giveBack("ann", 1, 1.2, first.Expires, []string{"A2"}, "A1")
			s.hold("bob", 1.1, 1.15, 1.3, "A1")
			s.confirm("ann", 2, 2.1, "A2")
			s.confirm("bob", 2, 2.1, "A1")
		}},
		"taken by another before it was given back": {tell: func(s *story) {
			first := s.hold("ann", 0, 0.1, 0.2, "A1", "A2")
			s.hold("bob", 0.5, 0.6, 0.7, "A1")
			s.giveBack("ann", 1, 1.2, first.Expires, []string{"A2"}, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"taken over after the hold's end": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 10, 10.15, 10.2, "A1")
			s.confirm("bob", 11, 11.1, "A1")
		}},
		"taken over before the hold's end": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 10, 10.05, 10.09, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"confirmed after the hold's end": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.confirm("ann", 10.2, 10.3, "A1")
		}, want: []string{judge.NoTwoOwners, judge.DeadlinesKept}},
		"a hold that ends while it is confirmed, from two replicas: confirmed": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.confirm("ann", 10.05, 10.3, "A1")
			refused(s.op("bob", history.Hold, 10.05, 10.3, "A1"), 409, "seats-unavailable", "")
		}},
		"a hold that ends while it is confirmed, from two replicas: taken over": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			refused(s.confirm("ann", 10.05, 10.3, "A1"), 410, "hold-expired", "")
			s.hold("bob", 10.05, 10.2, 10.3, "A1")
		}},
		"a hold that ends while it is confirmed, from two replicas: both": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.confirm("ann", 10.05, 10.3, "A1")
			s.hold("bob", 10.05, 10.2, 10.3, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"sold after it ran out and another took it over": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 10.2, 10.3, 10.4, "A1")
			s.confirm("ann", 10.5, 10.6, "A1")
		}, want: []string{judge.NoTwoOwners, judge.DeadlinesKept}},
		"said to have run out before it did": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			refused(s.confirm("ann", 5, 5.1, "A1"), 410, "hold-expired", "")
		}, want: []string{judge.NoTwoOwners, judge.DeadlinesKept}},
		"said to have run out, and sold all the same": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			refused(s.confirm("ann", 10.05, 10.2, "A1"), 410, "hold-expired", "")
			s.confirm("ann", 10.05, 10.3, "A1").Call = second(10.21)
		}, want: []string{judge.NoTwoOwners, judge.DeadlinesKept}},
		"released, and confirmed after that": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.release("ann", 1, 1.1, "A1")
			s.confirm("ann", 2, 2.1, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"released twice": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.release("ann", 1, 1.1, "A1")
			s.hold("bob", 1.2, 1.3, 1.4, "A1")
			s.release("ann", 15, 15.1, "A1")
			s.confirm("bob", 2, 2.1, "A1")
		}},
		"a release of what another holds by now": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 11, 11.1, 11.2, "A1")
			s.release("ann", 12, 12.1, "A1")
		}, want: []string{judge.NoTwoOwners}},
		"released while held, and another's hold refused to be confirmed": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.release("ann", 1, 1.1, "A1")
			refused(s.confirm("ann", 2, 2.1, "A1"), 409, "booking-not-held", "released")
		}},
		"said to be confirmed, and never was": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			refused(s.release("ann", 2, 2.1, "A1"), 409, "booking-not-held", "confirmed")
		}, want: []string{judge.NoTwoOwners}},
		"confirmed without an answer, and said to be confirmed": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			unanswered(s.confirm("ann", 1, 1.1, "A1"))
			refused(s.release("ann", 2, 2.1, "A1"), 409, "booking-not-held", "confirmed")
		}},
		"released without an answer, and another has it": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			unanswered(s.release("ann", 1, 1.1, "A1"))
			s.hold("bob", 5, 5.1, 5.2, "A1")
			s.confirm("bob", 6, 6.1, "A1")
		}},
		"another has it before it was released without an answer": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 5, 5.1, 5.2, "A1")
			unanswered(s.release("ann", 5.5, 5.6, "A1"))
		}, want: []string{judge.NoTwoOwners}},
		"held without an answer, and nobody else ever had it": {tell: func(s *story) {
			unanswered(s.hold("ann", 0, 0.1, 0.2, "A1"))
			refused(s.op("bob", history.Hold, 1, 1.1, "A1"), 409, "seats-unavailable", "")
		}},
		"held without an answer, and another has it": {tell: func(s *story) {
			unanswered(s.hold("ann", 0, 0.1, 0.2, "A1"))
			s.hold("bob", 1, 1.1, 1.2, "A1")
		}},
		"added without an answer, refused later, and sold with it": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			unanswered(s.op("ann", history.Add, 1, 1.1, "A2"))
			s.confirm("ann", 2, 2.1, "A1", "A2")
		}},
		"sold with a seat that was never asked for": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.confirm("ann", 2, 2.1, "A1").After = []string{"A1", "A2"}
		}, want: []string{judge.NoTwoOwners, judge.SameAnswer}},
		"added, taking over what ran out": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			bob := s.hold("bob", 5, 5.1, 5.2, "A2")
			s.add("bob", 10, 10.2, bob.Expires, []string{"A1", "A2"}, "A1")
			s.confirm("bob", 11, 11.1, "A1", "A2")
		}},
		"added what it had already": {tell: func(s *story) {
			ann := s.hold("ann", 0, 0.1, 0.2, "A1")
			s.add("ann", 1, 1.1, ann.Expires, []string{"A1", "A2"}, "A1", "A2")
			s.confirm("ann", 2, 2.1, "A1", "A2")
		}},
		"added, and the hold lasts longer": {tell: func(s *story) {
			ann := s.hold("ann", 0, 0.1, 0.2, "A1")
			s.add("ann", 1, 1.1, ann.Expires.Add(time.Second), []string{"A1", "A2"}, "A2")
		}, want: []string{judge.DeadlinesKept}},
		"added after the hold's end": {tell: func(s *story) {
			ann := s.hold("ann", 0, 0.1, 0.2, "A1")
			s.add("ann", 10.5, 10.6, ann.Expires, []string{"A1", "A2"}, "A2")
		}, want: []string{judge.NoTwoOwners, judge.DeadlinesKept}},
		"an answer that shows a seat which another has bought": {tell: func(s *story) {
			ann := s.hold("ann", 0, 0.1, 0.2, "A1")
			s.hold("bob", 0, 0.1, 0.2, "A2")
			s.confirm("bob", 1, 1.1, "A2")
			s.add("ann", 2, 2.1, ann.Expires, []string{"A1", "A2", "A3"}, "A3")
		}, want: []string{judge.NoTwoOwners}},
		"a hold shorter than it should be": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1").Expires = second(9.9)
		}, want: []string{judge.DeadlinesKept}},
		"a hold longer than it should be": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1").Expires = second(10.3)
		}, want: []string{judge.DeadlinesKept}},
		"a retry that has the seat twice": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 3, "A1").Attempts = 4
			s.confirm("ann", 4, 4.1, "A1")
		}},
		"another booking at the second answer": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1")
			s.confirm("ann", 1, 1.1, "A1").Booking = idOf("another booking")
		}, want: []string{judge.SameAnswer}},
		"other seats than those that were asked for": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1", "A2").After = []string{"A1"}
		}, want: []string{judge.SameAnswer}},
		"fewer seats sold than were held": {tell: func(s *story) {
			s.hold("ann", 0, 0.1, 0.2, "A1", "A2")
			s.confirm("ann", 1, 1.1, "A1", "A2").After = []string{"A1"}
		}, want: []string{judge.SameAnswer}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			c.tell(s)
			found := judge.Seats(s.ops, holdFor)
			require.Equal(t, c.want, broken(found), "%v", found)
		})
	}
}

func TestSeatsTellsWhatCantBe(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.hold("ann", 0, 0.1, 0.2, "A1")
	s.hold("bob", 1, 1.1, 1.2, "A1")
	found := judge.Seats(s.ops, holdFor)
	require.Len(t, found, 1)
	require.Equal(t, "seat A1 of showing 5f000000-0000-4000-8000-000000000000: no order is right: "+
		"after [hold [A1] by ann: ok, 19:00:00.000000–19:00:00.200000, hold until 19:00:10.100000] "+
		"there can't be [hold [A1] by bob: ok, 19:00:01.000000–19:00:01.200000, hold until 19:00:11.100000]", found[0].Detail)
}

// A seat with more commands than can be judged is no acquittal.
func TestSeatsTooManyCommands(t *testing.T) {
	t.Parallel()
	s := newStory()
	for i := range 10_001 {
		at := float64(i)
		who := "buyer " + second(at).Format(time.RFC3339Nano)
		s.hold(who, at, at, at+0.1, "A1")
	}
	found := judge.Seats(s.ops, holdFor)
	require.Equal(t, []string{judge.Unjudged}, broken(found), "%v", found)
}

// On a hot seat many commands stay without an answer, and the verdict still comes at once.
func TestSeatsManyUnanswered(t *testing.T) {
	t.Parallel()
	s := newStory()
	at := 0.0
	for i := range 300 {
		who := "buyer " + strings.Repeat("x", i)
		unanswered(s.hold("lost "+who, at, at, at, "A1"))
		s.hold(who, at, at+0.01, at+0.02, "A1")
		unanswered(s.release(who, at+0.03, 0, "A1"))
		at += 0.1
	}
	began := time.Now()
	require.Empty(t, judge.Seats(s.ops, holdFor))
	s.hold("last", at-0.08, at-0.075, at-0.07, "A1")
	s.confirm("last", at, at+0.1, "A1")
	s.hold("thief", at+0.2, at+0.3, at+0.4, "A1")
	require.Equal(t, []string{judge.NoTwoOwners}, broken(judge.Seats(s.ops, holdFor)))
	require.Less(t, time.Since(began), 3*time.Second)
}
