package client

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// check says what in an answer to c, about the booking as it was before, can't be right.
func check(c Command, before Booking, a Answer) error {
	if a.OK() {
		return checkDone(c, before, a)
	}
	if a.means() == unclear || a.means() == nothing {
		return nil
	}
	switch a.Problem {
	case problemSeatsUnavailable:
		return checkConflicts(c, a)
	case problemExpired:
		if c.Kind == history.Hold {
			return fmt.Errorf("a new hold has run out: %s", a)
		}
		return nil
	case problemSalesClosed:
		return nil
	default:
		// What was asked for was well-formed, by the session's owner, and of the only booking that it holds.
		return fmt.Errorf("can't be right: %s (%s)", a, a.Detail)
	}
}

func checkConflicts(c Command, a Answer) error {
	if c.Kind != history.Hold && c.Kind != history.Add {
		return fmt.Errorf("needs no free seat: %s", a)
	}
	if len(a.Conflicts) == 0 {
		return fmt.Errorf("says of no seat that it is unavailable: %s", a)
	}
	asked := setOf(c.Seats)
	for seat := range a.Conflicts {
		if !asked[seat] {
			return fmt.Errorf("says of a seat that was not asked for that it is unavailable: %s", seat)
		}
	}
	return nil
}

func setOf(seats []string) map[string]bool {
	set := make(map[string]bool, len(seats))
	for _, seat := range seats {
		set[seat] = true
	}
	return set
}

// sameSeats says whether both hold the same codes, each once, in any order.
func sameSeats(a []string, b map[string]bool) bool {
	set := setOf(a)
	if len(set) != len(a) || len(set) != len(b) {
		return false
	}
	for seat := range set {
		if !b[seat] {
			return false
		}
	}
	return true
}

// The states of a booking that a buyer can bring about.
const (
	stateHeld      = "held"
	stateConfirmed = "confirmed"
	stateReleased  = "released"
)

// expected is what a command that was done must have answered.
type expected struct {
	status int
	state  string
	seats  map[string]bool
}

func expect(c Command, before Booking) expected {
	seats := setOf(before.Seats)
	switch c.Kind {
	case history.Hold:
		return expected{status: 201, state: stateHeld, seats: setOf(c.Seats)}
	case history.Add:
		for _, seat := range c.Seats {
			seats[seat] = true
		}
		return expected{status: 200, state: stateHeld, seats: seats}
	case history.GiveBack:
		delete(seats, c.Seats[0])
		if len(seats) == 0 {
			return expected{status: 200, state: stateReleased, seats: seats}
		}
		return expected{status: 200, state: stateHeld, seats: seats}
	case history.Confirm:
		return expected{status: 200, state: stateConfirmed, seats: seats}
	default: // Release
		return expected{status: 204}
	}
}

func checkDone(c Command, before Booking, a Answer) error {
	want := expect(c, before)
	if a.Status != want.status {
		return fmt.Errorf("status %d instead of %d: %s", a.Status, want.status, a)
	}
	if want.state == "" {
		return nil
	}
	switch b := a.Booking; {
	case b.Showing != c.Showing:
		return fmt.Errorf("is at another showing: %s", a)
	case before.ID != uuid.Nil && b.ID != before.ID:
		return fmt.Errorf("is about another booking than %s: %s", before.ID, a)
	case b.State != want.state || !sameSeats(b.Seats, want.seats):
		return fmt.Errorf("asked for %v, with %v before: %s", c.Seats, before.Seats, a)
	case b.Seq <= before.Seq:
		return fmt.Errorf("seq %d does not follow %d: %s", b.Seq, before.Seq, a)
	case b.State == stateHeld && b.ExpiresAt.IsZero():
		return fmt.Errorf("is held for ever: %s", a)
	case b.State == stateHeld && before.State == stateHeld && !b.ExpiresAt.Equal(before.ExpiresAt):
		return fmt.Errorf("moved the hold's end from %s: %s", before.ExpiresAt.Format(time.RFC3339Nano), a)
	default:
		return nil
	}
}
