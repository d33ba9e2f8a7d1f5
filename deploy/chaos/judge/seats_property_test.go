package judge_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// house is the slow and simple truth by which random histories are made: one command after the other, each at an
// instant of its own.
type house struct {
	*story
	t *rapid.T
	// now is the instant of the latest command, in seconds.
	now   float64
	seats map[string]*seatTruth
	// customers by name, in the order of their coming.
	customers []*customer
}

type seatTruth struct {
	who   *customer
	sold  bool
	until float64
}

// customer has one booking.
type customer struct {
	name  string
	seats []string
	until float64
	// free is from when the next command may be sent: customers do one thing at a time.
	free float64
	// sold and gone say that the booking has come to its end.
	sold, gone bool
}

func newHouse(t *rapid.T) *house {
	h := &house{story: newStory(), t: t, seats: map[string]*seatTruth{}}
	for _, seat := range []string{"A1", "A2", "A3"} {
		h.seats[seat] = &seatTruth{}
	}
	return h
}

func (h *house) draw(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(h.t, what)
}

// when is the next instant, and a call before and a return after it, of a customer.
func (h *house) when(c *customer) (call, at, ret float64) {
	h.now += float64(h.draw("pause", 1, 2500)) / 1000
	at = max(h.now, c.free+0.002)
	h.now = at
	call = max(c.free+0.001, at-float64(h.draw("way there", 0, 3000))/1000)
	ret = at + float64(h.draw("way back", 1, 3000))/1000
	c.free = ret
	return call, at, ret
}

// available says whether a customer can have the seat at an instant.
func (s *seatTruth) available(c *customer, at float64) bool {
	return !s.sold && (s.who == nil || s.who == c || at >= s.until)
}

func (h *house) hold() {
	c := &customer{name: fmt.Sprintf("customer %d", len(h.customers))}
	h.customers = append(h.customers, c)
	c.free = h.now
	call, at, ret := h.when(c)
	seats := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A1", "A2", "A3"}), 1, 3, rapid.ID[string]).Draw(h.t, "seats")
	op := h.story.hold(c.name, call, at, ret, seats...)
	if slices.ContainsFunc(seats, func(seat string) bool { return !h.seats[seat].available(c, at) }) {
		refused(op, 409, "seats-unavailable", "")
		c.gone = true
		return
	}
	c.seats, c.until = seats, at+holdFor.Seconds()
	op.Expires = second(at).Add(holdFor).Truncate(time.Microsecond)
	for _, seat := range seats {
		*h.seats[seat] = seatTruth{who: c, until: c.until}
	}
	h.maybeLost(c, len(h.ops)-1)
}

// change is a command on a hold; it is refused when the hold is over.
func (h *house) change(c *customer) {
	call, at, ret := h.when(c)
	kind := rapid.SampledFrom([]history.Kind{history.Confirm, history.Release, history.GiveBack, history.Add}).Draw(h.t, "kind")
	end := second(0)
	for _, op := range h.ops {
		if op.Owner == c.name && !op.Expires.IsZero() {
			end = op.Expires
		}
	}
	had := slices.Clone(c.seats)
	var op *history.Op
	switch kind {
	case history.Confirm:
		op = h.confirm(c.name, call, ret, had...)
	case history.Release:
		op = h.release(c.name, call, ret, had...)
	case history.GiveBack:
		op = h.giveBack(c.name, call, ret, end, had[1:], had[0])
	default:
		h.addSeat(c, call, at, ret, end)
		return
	}
	if at >= c.until {
		refused(op, 410, "hold-expired", "")
		c.gone = true
		return
	}
	switch kind {
	case history.Confirm:
		for _, seat := range had {
			h.seats[seat].sold = true
		}
		c.sold = true
	case history.Release:
		for _, seat := range had {
			*h.seats[seat] = seatTruth{}
		}
		c.gone = true
	default:
		*h.seats[had[0]] = seatTruth{}
		c.seats = had[1:]
		c.gone = len(c.seats) == 0
	}
	h.maybeLost(c, len(h.ops)-1)
}

func (h *house) addSeat(c *customer, call, at, ret float64, end time.Time) {
	seat := rapid.SampledFrom([]string{"A1", "A2", "A3"}).Draw(h.t, "seat")
	after := slices.Clone(c.seats)
	if !slices.Contains(after, seat) {
		after = append(after, seat)
	}
	op := h.add(c.name, call, ret, end, after, seat)
	switch {
	case at >= c.until:
		refused(op, 410, "hold-expired", "")
		c.gone = true
	case !h.seats[seat].available(c, at):
		refused(op, 409, "seats-unavailable", "")
	default:
		c.seats = after
		*h.seats[seat] = seatTruth{who: c, until: c.until}
		h.maybeLost(c, len(h.ops)-1)
	}
}

// maybeLost loses an answer now and then, and with it the customer.
func (h *house) maybeLost(c *customer, i int) {
	if h.draw("lost", 0, 7) == 0 {
		unanswered(&h.ops[i])
		c.gone = true
	}
}

func (h *house) play() {
	for range h.draw("commands", 5, 40) {
		var open []*customer
		for _, c := range h.customers {
			if !c.gone && !c.sold {
				open = append(open, c)
			}
		}
		if len(open) == 0 || h.draw("new", 0, 2) == 0 {
			h.hold()
			continue
		}
		h.change(rapid.SampledFrom(open).Draw(h.t, "who"))
	}
}

// What a right server may answer, however the commands overlap, and whichever answers are lost, is accepted.
func TestSeatsAcceptsWhatIsRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		h.play()
		require.Empty(t, judge.Seats(h.ops, holdFor))
	})
}

// One answer that can't be, somewhere in a history that is right, is found.
func TestSeatsFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		h.play()
		if !h.corrupt() {
			t.Skip("nothing in it that could be made wrong")
		}
		require.Contains(t, broken(judge.Seats(h.ops, holdFor)), judge.NoTwoOwners)
	})
}

// corrupt adds one answer that no server may give.
func (h *house) corrupt() bool {
	var wrongs []func()
	for i := range h.ops {
		op := h.ops[i]
		if op.Outcome != history.OK || len(op.Seats) == 0 {
			continue
		}
		after := op.Return.Sub(second(0)).Seconds()
		seat := op.Seats[0]
		switch op.Kind {
		case history.Confirm:
			wrongs = append(wrongs, func() { // someone else gets what was sold, at any time after
				at := after + 0.001 + float64(h.draw("much later", 0, 30))
				h.story.hold("thief", at, at, at+1, seat)
			})
		case history.Release:
			wrongs = append(wrongs, func() { // what was released is sold to whoever released it
				h.confirm(op.Owner, after+0.001, after+1, op.Seats...)
			})
		case history.Hold:
			next := op.Expires.Add(-time.Millisecond)
			for _, other := range h.ops {
				if other.Owner == op.Owner && other.Call.After(op.Call) && other.Call.Before(next) {
					next = other.Call
				}
			}
			if room := next.Sub(op.Return); room > 2*time.Millisecond {
				wrongs = append(wrongs, func() { // someone else gets what is held
					at := after + 0.001
					h.story.hold("thief", at, at, next.Sub(second(0)).Seconds()-0.0005, seat)
				})
			}
		case history.Add, history.GiveBack:
		}
	}
	if len(wrongs) == 0 {
		return false
	}
	wrongs[h.draw("wrong", 0, len(wrongs)-1)]()
	return true
}
