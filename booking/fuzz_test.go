package booking

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/eventstore"
)

const fuzzBooking = "00000000-0000-4000-8000-000000000001"

// fuzzState is a showing in which one booking holds A1 and A2.
func fuzzState(t require.TestingT) *State {
	s := NewState()
	ends := time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC)
	for _, e := range []eventstore.Event{
		{Entity: ShowingEntity, Type: TypeShowingOpened, Data: json.RawMessage(`{"layout_version":1}`)},
		{Entity: "seat:A1", Type: TypeSeatStatusChanged, Deadline: ends, Data: json.RawMessage(`{"booking":"` + fuzzBooking + `","seat":"A1","previous":"available","current":"held"}`)},
		{Entity: "seat:A2", Type: TypeSeatStatusChanged, Deadline: ends, Data: json.RawMessage(`{"booking":"` + fuzzBooking + `","seat":"A2","previous":"available","current":"held"}`)},
		{Entity: "booking:" + fuzzBooking, Type: TypeBookingHeld, Deadline: ends, Data: json.RawMessage(`{"booking":"` + fuzzBooking + `","state":"held","seats":["A1","A2"]}`)},
	} {
		e.Seq, e.ID = s.Seq+1, uuid.UUID{byte(s.Seq) + 1}
		require.NoError(t, s.Apply(e))
	}
	return s
}

// Whatever an event says, it is refused and leaves the state as it was, or it takes the state one event further: to one
// that is written and read again without a loss, in which every seat has a status that there is.
func FuzzApply(f *testing.F) {
	f.Add("seat:A1", TypeSeatStatusChanged, []byte(`{"seat":"A1","current":"available"}`), int64(0))
	f.Add("seat:A3", TypeSeatStatusChanged, []byte(`{"seat":"A3","current":"held","booking":"`+fuzzBooking+`"}`), int64(1_800_000_000))
	f.Add("seat:A1", TypeSeatStatusChanged, []byte(`{"seat":"A1","current":"gone"}`), int64(0))
	f.Add("booking:"+fuzzBooking, TypeBookingSeatGivenBack, []byte(`{"booking":"`+fuzzBooking+`","state":"held","seats":["A2"],"total":{"amount":-1,"currency":""}}`), int64(1_800_000_000))
	f.Add("booking:"+fuzzBooking, TypeBookingConfirmed, []byte(`{"booking":"`+fuzzBooking+`","state":"confirmed","seats":["A1","A1"]}`), int64(0))
	f.Add("booking:"+fuzzBooking, TypeBookingReleased, []byte(`{"booking":"`+fuzzBooking+`","state":"released","seats":[]}`), int64(0))
	f.Add("booking:{"+fuzzBooking+"}", TypeBookingHeld, []byte(`{"booking":"`+fuzzBooking+`","state":"held"}`), int64(0))
	f.Add(ShowingEntity, TypeShowingOpened, []byte(`{"layout_version":2}`), int64(0))
	f.Add("anything", "OfAnotherVersion", []byte(`[]`), int64(-1))
	f.Fuzz(func(t *testing.T, entity, kind string, data []byte, deadline int64) {
		s := fuzzState(t)
		before := mustJSON(t, s)
		e := eventstore.Event{Seq: 5, ID: uuid.UUID{5}, Entity: entity, Type: kind, Data: data}
		if deadline != 0 {
			e.Deadline = time.Unix(deadline%200_000_000_000, 0).UTC() // years that the log takes
		}
		if s.Apply(e) != nil {
			require.Equal(t, before, mustJSON(t, s), "a refused event leaves the state as it was")
			return
		}
		require.Equal(t, eventstore.Position{Seq: 5, Event: uuid.UUID{5}}, s.Position())
		for seat, state := range s.Seats {
			require.True(t, state.Status.Known(), "%q is %q", seat, state.Status)
			require.True(t, state.Seq > 0 && state.Seq <= s.Seq)
			require.True(t, state.Status == Held || state.Deadline.IsZero())
		}
		for _, live := range s.Bookings {
			require.True(t, live.State == StateHeld || live.State == StateConfirmed)
			require.True(t, live.Seq > 0 && live.Seq <= s.Seq)
		}
		written := mustJSON(t, s)
		again := NewState()
		require.NoError(t, json.Unmarshal([]byte(written), again))
		require.Equal(t, written, mustJSON(t, again))
		s.View([]Seat{"A1", "A2", "A3"}, uuid.MustParse(fuzzBooking))
		require.Equal(t, written, mustJSON(t, s), "looking changes nothing")
	})
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// A booking that is read of its event is the one that the event names.
func FuzzRead(f *testing.F) {
	f.Add("booking:"+fuzzBooking, []byte(`{"booking":"`+fuzzBooking+`","session":"`+fuzzBooking+`","state":"held","seats":["A1"],"total":{"amount":1250,"currency":"EUR"}}`))
	f.Add("booking:"+fuzzBooking, []byte(`{"booking":"`+fuzzBooking+`","state":"refunded","seats":null}`))
	f.Add("booking:", []byte(`{}`))
	f.Add("seat:A1", []byte(`{"seat":"A1"}`))
	f.Fuzz(func(t *testing.T, entity string, data []byte) {
		now := time.Date(2026, 12, 1, 19, 0, 0, 0, time.UTC)
		b, err := Read(eventstore.Event{Stream: uuid.Max, Seq: 7, Entity: entity, Data: data, Deadline: now.Add(time.Minute)}, now)
		if err != nil {
			require.Equal(t, Booking{}, b)
			return
		}
		require.Equal(t, entity, BookingEntity(b.ID))
		require.Equal(t, uuid.Max, b.Showing)
		require.NotEqual(t, b.State == StateHeld, b.ExpiresAt.IsZero())
		b.Now = now.Add(time.Minute)
		require.NotEqual(t, StateHeld, b.asOfNow().State, "its end is exclusive")
	})
}

// An entity is read as what it was written of, and as nothing else.
func FuzzEntities(f *testing.F) {
	for _, seed := range []string{
		"", ShowingEntity, "seat:", "seat:A1", "seat:\xff", "seat:12345678901234567", "booking:", "booking:x", "booking:" + fuzzBooking,
		"booking:urn:uuid:" + fuzzBooking, "booking:{" + fuzzBooking + "}", "booking:0000000000000000000000000000000A",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entity string) {
		seat, isSeat := seatOf(entity)
		id, isBooking := bookingOf(entity)
		require.False(t, isSeat && isBooking)
		if isSeat {
			require.Equal(t, entity, SeatEntity(seat))
		}
		if isBooking {
			require.Equal(t, entity, BookingEntity(id))
		}
	})
}
