package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/booking"
)

// model is what a showing must be after the commands so far, worked out the slow and simple way.
type model struct {
	bookings map[uuid.UUID]*modelBooking
	// order is that of their making: ids are random, and a run must be repeatable.
	order []uuid.UUID
	// done are the commands that passed, to be repeated.
	done []doneCommand
}

type modelBooking struct {
	session uuid.UUID
	state   booking.BookingState
	seats   []booking.Seat
	// lapsed says that the hold's end has come, and nobody ended it yet.
	lapsed bool
}

type doneCommand struct {
	repeat func(r *replica) (booking.Booking, error)
	was    booking.Booking
}

// holder is whose seat it is, or nil. A lapsed hold doesn't count.
func (m *model) holder(seat booking.Seat) (uuid.UUID, *modelBooking) {
	for id, b := range m.bookings {
		live := b.state == booking.StateConfirmed || (b.state == booking.StateHeld && !b.lapsed)
		if live && slices.Contains(b.seats, seat) {
			return id, b
		}
	}
	return uuid.Nil, nil
}

// holdOf is a session's hold that isn't over.
func (m *model) holdOf(session uuid.UUID) (uuid.UUID, bool) {
	for id, b := range m.bookings {
		if b.session == session && b.state == booking.StateHeld && !b.lapsed {
			return id, true
		}
	}
	return uuid.Nil, false
}

// taken are the seats that another than the booking has.
func (m *model) taken(seats []booking.Seat, but uuid.UUID) bool {
	return slices.ContainsFunc(seats, func(seat booking.Seat) bool {
		id, b := m.holder(seat)
		return b != nil && id != but
	})
}

// end ends the lapsed holds that stand in the way: those with one of the seats, and the session's own.
func (m *model) end(seats []booking.Seat, session uuid.UUID) {
	for _, b := range m.bookings {
		inTheWay := b.session == session || slices.ContainsFunc(b.seats, func(s booking.Seat) bool { return slices.Contains(seats, s) })
		if b.lapsed && b.state == booking.StateHeld && inTheWay {
			b.state, b.seats = booking.StateExpired, nil
		}
	}
}

// trial is one run of random commands by three sessions on two replicas, at a showing of its own.
type trial struct {
	*rapid.T
	h        *house
	showing  uuid.UUID
	sessions []person
	replicas []*replica
	// brief makes holds that are over in no time.
	brief *replica
	model model
}

func (x *trial) replica() *replica { return x.replicas[x.draw("replica", len(x.replicas))] }
func (x *trial) person() person    { return x.sessions[x.draw("person", len(x.sessions))] }

func (x *trial) draw(what string, n int) int { return rapid.IntRange(0, n-1).Draw(x.T, what) }

func (x *trial) seats(most int) []booking.Seat {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(numbered(1, 6)), 1, most, rapid.ID[booking.Seat]).Draw(x.T, "seats")
}

// some is one of the bookings so far, of whatever state.
func (x *trial) some() (uuid.UUID, *modelBooking) {
	if len(x.model.order) == 0 {
		x.Skip("no bookings yet")
	}
	id := x.model.order[x.draw("booking", len(x.model.order))]
	return id, x.model.bookings[id]
}

func (x *trial) passed(b booking.Booking, repeat func(r *replica) (booking.Booking, error)) {
	want := x.model.bookings[b.ID]
	require.Equal(x, want.state, b.State)
	wanted := slices.Clone(want.seats)
	slices.SortFunc(wanted, func(a, b booking.Seat) int { return number(x, a) - number(x, b) })
	require.ElementsMatch(x, wanted, b.Seats)
	require.Equal(x, int64(len(wanted))*seatPrice, b.Total.Amount)
	x.model.done = append(x.model.done, doneCommand{repeat: repeat, was: b})
}

func (x *trial) hold(at *replica) (uuid.UUID, error) {
	p, seats := x.person(), x.seats(3)
	cmd := p.command("hold", seats...)
	repeat := func(r *replica) (booking.Booking, error) { return r.Hold(x.h.t.Context(), cmd, x.showing, seats) }
	b, err := repeat(at)
	_, holds := x.model.holdOf(p.session)
	if holds || x.model.taken(seats, uuid.Nil) {
		var exists *booking.ExistsError
		var unavailable *booking.SeatsUnavailableError
		require.True(x, errors.As(err, &exists) || errors.As(err, &unavailable), "got %v", err)
		require.True(x, holds || errors.As(err, &unavailable), "got %v", err)
		return uuid.Nil, err
	}
	require.NoError(x, err)
	x.model.end(seats, p.session)
	x.model.bookings[b.ID] = &modelBooking{session: p.session, state: booking.StateHeld, seats: seats}
	x.model.order = append(x.model.order, b.ID)
	x.passed(b, repeat)
	return b.ID, nil
}

// change runs a command on some booking by its owner and says whether it had to pass.
func (x *trial) change(name string, run func(r *replica, cmd booking.Command, id uuid.UUID) (booking.Booking, error)) (*modelBooking, booking.Booking, bool) {
	id, b := x.some()
	cmd := person{session: b.session}.command(name)
	got, err := run(x.replica(), cmd, id)
	var notHeld *booking.NotHeldError
	var unavailable *booking.SeatsUnavailableError
	switch {
	case (b.state != booking.StateHeld || b.lapsed) && errors.As(err, &unavailable):
		require.Equal(x, "add", name)
		return b, got, false // of two reasons to refuse, either will do
	case b.state == booking.StateHeld && b.lapsed, b.state == booking.StateExpired:
		require.ErrorIs(x, err, booking.ErrHoldExpired)
		return b, got, false
	case b.state != booking.StateHeld && (name != "release" || b.state != booking.StateReleased):
		require.ErrorAs(x, err, &notHeld)
		require.Equal(x, b.state, notHeld.State)
		return b, got, false
	case b.state != booking.StateHeld:
		require.NoError(x, err, "released twice")
		return b, got, false
	}
	if errors.As(err, &unavailable) {
		return b, got, false
	}
	require.NoError(x, err)
	x.model.done = append(x.model.done, doneCommand{was: got, repeat: func(r *replica) (booking.Booking, error) {
		return run(r, cmd, id)
	}})
	return b, got, true
}

func (x *trial) add() {
	seats := x.seats(2)
	ctx := x.h.t.Context()
	id := uuid.Nil
	b, got, passed := x.change("add", func(r *replica, cmd booking.Command, of uuid.UUID) (booking.Booking, error) {
		id = of
		return r.AddSeats(ctx, cmd, of, seats)
	})
	held := b.state == booking.StateHeld && !b.lapsed
	require.Equal(x, held && !x.model.taken(seats, id), passed)
	if !passed {
		return
	}
	x.model.end(seats, uuid.Nil)
	for _, seat := range seats {
		if !slices.Contains(b.seats, seat) {
			b.seats = append(b.seats, seat)
		}
	}
	require.ElementsMatch(x, b.seats, got.Seats)
}

func (x *trial) giveBack() {
	_, some := x.some()
	if some.state != booking.StateHeld || len(some.seats) == 0 {
		x.Skip("it has no seats to give back")
	}
	seat := rapid.SampledFrom(some.seats).Draw(x.T, "seat")
	ctx := x.h.t.Context()
	b, got, passed := x.change("give-back", func(r *replica, cmd booking.Command, id uuid.UUID) (booking.Booking, error) {
		got, err := r.GiveBack(ctx, cmd, id, seat)
		if errors.Is(err, booking.ErrNotFound) && !slices.Contains(x.model.bookings[id].seats, seat) {
			x.Skip("another booking was drawn")
		}
		return got, err
	})
	if !passed {
		return
	}
	b.seats = slices.DeleteFunc(slices.Clone(b.seats), func(s booking.Seat) bool { return s == seat })
	if len(b.seats) == 0 {
		b.state = booking.StateReleased
	}
	require.Equal(x, b.state, got.State)
	require.ElementsMatch(x, b.seats, got.Seats)
}

func (x *trial) confirm() {
	ctx := x.h.t.Context()
	b, got, passed := x.change("confirm", func(r *replica, cmd booking.Command, id uuid.UUID) (booking.Booking, error) {
		return r.Confirm(ctx, cmd, id)
	})
	if passed {
		b.state = booking.StateConfirmed
		require.ElementsMatch(x, b.seats, got.Seats)
	}
}

func (x *trial) release() {
	ctx := x.h.t.Context()
	b, _, passed := x.change("release", func(r *replica, cmd booking.Command, id uuid.UUID) (booking.Booking, error) {
		return r.Release(ctx, cmd, id)
	})
	if passed {
		b.state, b.seats = booking.StateReleased, nil
	} else if b.lapsed && b.state == booking.StateHeld {
		b.state, b.seats = booking.StateExpired, nil // it ran out, and was ended for the asking
	}
}

// lapse makes a hold that is over.
func (x *trial) lapse() {
	id, err := x.hold(x.brief)
	if err != nil {
		return
	}
	x.h.waitFor(x.model.done[len(x.model.done)-1].was.ExpiresAt)
	x.model.bookings[id].lapsed = true
}

func (x *trial) sweep() {
	due := 0
	for _, b := range x.model.bookings {
		if b.lapsed && b.state == booking.StateHeld {
			b.state, b.seats = booking.StateExpired, nil
			due++
		}
	}
	n, err := x.replica().SweepExpired(x.h.t.Context(), []uuid.UUID{x.showing})
	require.NoError(x, err)
	require.Equal(x, due, n)
}

func (x *trial) repeat() {
	if len(x.model.done) == 0 {
		x.Skip("nothing to repeat")
	}
	before := x.state().Seq
	done := x.model.done[x.draw("command", len(x.model.done))]
	got, err := done.repeat(x.replica())
	require.NoError(x, err)
	same(x, done.was, got)
	require.Equal(x, before, x.state().Seq)
}

func (x *trial) state() *booking.State {
	state := booking.NewState()
	require.NoError(x, catchUp(x.h.t.Context(), x.h.store, x.showing, state))
	return state
}

// check compares the log with the model.
func (x *trial) check() {
	state := x.state()
	soundState(x, state)
	live := 0
	for id, b := range x.model.bookings {
		if b.state != booking.StateHeld && b.state != booking.StateConfirmed {
			require.NotContains(x, state.Bookings, id)
			continue
		}
		live++
		require.Equal(x, b.state, state.Bookings[id].State)
		require.ElementsMatch(x, b.seats, state.Bookings[id].Seats)
	}
	require.Len(x, state.Bookings, live)
}

// freezeOne makes one replica's map lag until it is thawed.
func (x *trial) freezeOne() {
	m := x.replicas[1].m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frozen = !m.frozen
}

// Random commands by several sessions on two replicas, one of which lags at times: the log is always what
// the model says, and a repeated command always finds its first outcome.
func TestCommandsFollowTheModel(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 6)
	replicas := []*replica{h.replica(booking.Config{DoubtFor: time.Millisecond}), h.replica(booking.Config{DoubtFor: time.Millisecond})}
	brief := h.replica(booking.Config{HoldFor: time.Millisecond, DoubtFor: time.Millisecond})
	rapid.Check(t, func(rt *rapid.T) {
		x := &trial{
			T: rt, h: h, showing: uuid.New(), replicas: replicas, brief: brief,
			sessions: []person{newPerson(), newPerson(), newPerson()},
			model:    model{bookings: map[uuid.UUID]*modelBooking{}},
		}
		h.hall.add(x.showing)
		h.openStream(x.showing)
		rt.Repeat(map[string]func(*rapid.T){
			"hold":      func(t *rapid.T) { x.T = t; _, _ = x.hold(x.replica()) },
			"add":       func(t *rapid.T) { x.T = t; x.add() },
			"give back": func(t *rapid.T) { x.T = t; x.giveBack() },
			"confirm":   func(t *rapid.T) { x.T = t; x.confirm() },
			"release":   func(t *rapid.T) { x.T = t; x.release() },
			"lapse":     func(t *rapid.T) { x.T = t; x.lapse() },
			"sweep":     func(t *rapid.T) { x.T = t; x.sweep() },
			"repeat":    func(t *rapid.T) { x.T = t; x.repeat() },
			"freeze":    func(t *rapid.T) { x.T = t; x.freezeOne() },
			"":          func(t *rapid.T) { x.T = t; x.check() },
		})
	})
}
