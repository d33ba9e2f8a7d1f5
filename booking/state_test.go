package booking

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/eventstore"
)

// event makes one that follows the state.
func event(t require.TestingT, s *State, entity, kind string, body any, deadline time.Time) eventstore.Event {
	data, err := json.Marshal(body)
	require.NoError(t, err)
	return eventstore.Event{
		Stream: uuid.Nil, Seq: s.Seq + 1, ID: uuid.New(), Entity: entity, Type: kind, Data: data, Deadline: deadline,
	}
}

func apply(t require.TestingT, s *State, entity, kind string, body any, deadline time.Time) {
	require.NoError(t, s.Apply(event(t, s, entity, kind, body, deadline)))
}

func TestStateFollowsTheEvents(t *testing.T) {
	t.Parallel()
	s := NewState()
	layout, id, session := uuid.New(), uuid.New(), uuid.New()
	ends := time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC)
	seat := func(seat Seat, from, to Status) SeatStatusChanged {
		return SeatStatusChanged{Booking: id, Seat: seat, Previous: from, Current: to, Who: session}
	}
	booking := func(state BookingState, seats ...Seat) BookingChanged {
		return BookingChanged{Booking: id, Session: session, State: state, Seats: seats}
	}

	apply(t, s, ShowingEntity, TypeShowingOpened, ShowingOpened{Layout: layout, LayoutVersion: 3}, time.Time{})
	apply(t, s, "seat:A1", TypeSeatStatusChanged, seat("A1", Available, Held), ends)
	apply(t, s, "seat:A2", TypeSeatStatusChanged, seat("A2", Available, Held), ends)
	apply(t, s, BookingEntity(id), TypeBookingHeld, booking(StateHeld, "A1", "A2"), ends)
	require.Equal(t, ShowingOpened{Layout: layout, LayoutVersion: 3}, s.Opened)
	require.Equal(t, SeatState{Status: Held, Booking: id, Seq: 2, Deadline: ends}, s.Seats["A1"])
	require.Equal(t, Live{Session: session, State: StateHeld, Seats: []Seat{"A1", "A2"}, Deadline: ends, Seq: 4}, s.Bookings[id])
	require.False(t, s.View(nil, id).MayHaveEnded)

	view := s.View([]Seat{"A1", "A9"}, uuid.New())
	require.Equal(t, int64(4), view.Seq)
	require.Len(t, view.Seats, 2, "the seat asked about, and the other one of its booking")
	require.Equal(t, s.Bookings[id], view.Bookings[id])

	apply(t, s, "seat:A1", TypeSeatStatusChanged, seat("A1", Held, Available), time.Time{})
	apply(t, s, BookingEntity(id), TypeBookingSeatGivenBack, booking(StateHeld, "A2"), ends)
	require.Equal(t, []Seat{"A1"}, s.Bookings[id].GivenBack)
	require.Nil(t, view.Bookings[id].GivenBack, "a view doesn't change any more")
	require.Equal(t, SeatState{Status: Available, Seq: 5}, s.Seats["A1"])

	apply(t, s, "seat:A2", TypeSeatStatusChanged, seat("A2", Held, Sold), time.Time{})
	apply(t, s, BookingEntity(id), TypeBookingConfirmed, booking(StateConfirmed, "A2"), time.Time{})
	require.Equal(t, SeatState{Status: Sold, Booking: id, Seq: 7}, s.Seats["A2"])
	require.Equal(t, StateConfirmed, s.Bookings[id].State)
	require.Equal(t, int64(8), s.Seq)
	require.Equal(t, eventstore.Position{Seq: 8, Event: s.Event}, s.Position())
}

func TestABookingThatEndedIsRemembered(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{TypeBookingReleased, TypeBookingExpired} {
		s := NewState()
		id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(kind))
		apply(t, s, BookingEntity(id), TypeBookingHeld, BookingChanged{Booking: id, State: StateHeld}, time.Now())
		apply(t, s, BookingEntity(id), kind, BookingChanged{Booking: id, State: StateReleased}, time.Time{})

		require.Empty(t, s.Bookings)
		require.True(t, s.View(nil, id).MayHaveEnded)
		require.False(t, s.View(nil, uuid.NewSHA1(uuid.NameSpaceOID, []byte("another"))).MayHaveEnded)
	}
}

func TestStateRefusesWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	s := NewState()
	id := uuid.New()
	apply(t, s, ShowingEntity, TypeShowingOpened, ShowingOpened{}, time.Time{})
	old := event(t, s, "x", "SomethingOfTheFuture", struct{}{}, time.Time{})
	require.NoError(t, s.Apply(old), "an unknown type changes nothing but seq")
	require.NoError(t, s.Apply(old), "what it reflects already changes nothing")
	require.Equal(t, int64(2), s.Seq)

	gap := event(t, s, "seat:A1", TypeSeatStatusChanged, SeatStatusChanged{Seat: "A1"}, time.Time{})
	gap.Seq++
	require.ErrorIs(t, s.Apply(gap), ErrGap)
	wrong := event(t, s, "seat:A1", TypeSeatStatusChanged, SeatStatusChanged{Seat: "A2"}, time.Time{})
	require.ErrorContains(t, s.Apply(wrong), "is not seat")
	wrong = event(t, s, BookingEntity(id), TypeBookingHeld, BookingChanged{Booking: uuid.New()}, time.Time{})
	require.ErrorContains(t, s.Apply(wrong), "is not booking")
	wrong = event(t, s, "seat:A1", TypeSeatStatusChanged, 7, time.Time{})
	require.Error(t, s.Apply(wrong))
	require.Equal(t, int64(2), s.Seq)
}

// A state that went through JSON goes on like one that didn't: what a snapshot says is a function of the
// log and the seq.
func TestStateSurvivesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		straight, stored := NewState(), NewState()
		ids := []uuid.UUID{uuid.NewSHA1(uuid.Nil, []byte("1")), uuid.NewSHA1(uuid.Nil, []byte("2"))}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			e := randomEvent(t, straight, ids)
			require.NoError(t, straight.Apply(e))
			require.NoError(t, stored.Apply(e))
			data, err := json.Marshal(stored)
			require.NoError(t, err)
			stored = NewState()
			require.NoError(t, json.Unmarshal(data, stored))
		}
		require.Equal(t, straight, stored)
	})
}

func randomEvent(t *rapid.T, s *State, ids []uuid.UUID) eventstore.Event {
	id := rapid.SampledFrom(ids).Draw(t, "booking")
	if rapid.Bool().Draw(t, "is a seat") {
		seat := rapid.SampledFrom([]Seat{"A1", "A2"}).Draw(t, "seat")
		status := rapid.SampledFrom([]Status{Available, Held, Sold, Blocked}).Draw(t, "status")
		return event(t, s, SeatEntity(seat), TypeSeatStatusChanged,
			SeatStatusChanged{Booking: id, Seat: seat, Current: status}, time.Unix(1_800_000_000, 0).UTC())
	}
	state := rapid.SampledFrom([]BookingState{StateHeld, StateConfirmed, StateReleased}).Draw(t, "state")
	seats := rapid.SampledFrom([][]Seat{{"A1"}, {"A2"}, {"A1", "A2"}}).Draw(t, "seats")
	return event(t, s, BookingEntity(id), TypeBookingHeld,
		BookingChanged{Booking: id, State: state, Seats: seats}, time.Unix(1_800_000_000, 0).UTC())
}

func TestReadMakesABookingOfItsEvent(t *testing.T) {
	t.Parallel()
	id, session, showing := uuid.New(), uuid.New(), uuid.New()
	ends, now := time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 19, 55, 0, 0, time.UTC)
	e := event(t, NewState(), BookingEntity(id), TypeBookingHeld, BookingChanged{
		Booking: id, Session: session, State: StateHeld, Seats: []Seat{"F7"}, Total: Money{Amount: 1250, Currency: "EUR"},
	}, ends)
	e.Stream = showing

	b, err := Read(e, now)

	require.NoError(t, err)
	require.Equal(t, Booking{
		ID: id, Showing: showing, Session: session, State: StateHeld, Seats: []Seat{"F7"},
		ExpiresAt: ends, Now: now, Seq: 1, Total: Money{Amount: 1250, Currency: "EUR"},
	}, b)
	require.Equal(t, b, b.asOfNow())
	b.Now = ends
	require.Equal(t, StateExpired, b.asOfNow().State, "its end is exclusive")
	require.Empty(t, b.asOfNow().Seats)
	_, err = Read(eventstore.Event{Data: []byte(`{}`)}, now)
	require.Error(t, err)
}

func TestEntitiesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	seat, ok := seatOf(SeatEntity("F7"))
	require.True(t, ok)
	require.Equal(t, Seat("F7"), seat)
	back, ok := bookingOf(BookingEntity(id))
	require.True(t, ok)
	require.Equal(t, id, back)
	for _, entity := range []string{"", "seat:", "seat:12345678901234567", "showing", "booking:", "booking:x", "booking:{00000000-0000-0000-0000-000000000001}", "booking:0000000000000000000000000000000A"} {
		_, isSeat := seatOf(entity)
		_, isBooking := bookingOf(entity)
		require.False(t, isSeat || isBooking, "%q", entity)
	}
}

func TestTheSieveForgetsNothingAndMistakesLittle(t *testing.T) {
	t.Parallel()
	id := func(i int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%d", i)) }
	var s Sieve
	require.False(t, s.mayHave(id(0)))
	for i := range 1000 {
		s = s.with(id(i))
	}
	for i := range 1000 {
		require.True(t, s.mayHave(id(i)))
	}
	mistaken := 0
	for i := 1000; i < 101_000; i++ {
		if s.mayHave(id(i)) {
			mistaken++
		}
	}
	require.Less(t, mistaken, 10, "of 100,000")
	require.Len(t, s, 8192)
}
