package seatmap

import (
	"encoding/json"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// seatEvent is a seat's event at a seq.
func seatEvent(t require.TestingT, showing uuid.UUID, seq int64, seat booking.Seat, to booking.Status) eventstore.Event {
	data, err := json.Marshal(booking.SeatStatusChanged{Booking: uuid.New(), Seat: seat, Current: to})
	require.NoError(t, err)
	return eventstore.Event{
		Stream: showing, Seq: seq, ID: uuid.New(), Entity: booking.SeatEntity(seat),
		Type: booking.TypeSeatStatusChanged, Data: data,
	}
}

// Whatever changed in whatever order, a delta since any seq laid over the map at that seq is the map of
// now, and says nothing of a seat that did not change since.
func TestSinceIsTheDifferenceOfTwoFolds(t *testing.T) {
	t.Parallel()
	codes := []booking.Seat{"A1", "A2", "A3", "B1"}
	rapid.Check(t, func(t *rapid.T) {
		showing := uuid.New()
		s := newShow(showing, codes, &zipper{}, time.Time{})
		// The first part comes with a snapshot, the rest as deltas.
		loaded := rapid.IntRange(0, 20).Draw(t, "loaded")
		total := loaded + rapid.IntRange(0, 40).Draw(t, "deltas")
		folds := []map[booking.Seat]booking.Status{{}}
		for _, code := range codes {
			folds[0][code] = booking.Available
		}
		state := booking.NewState()
		changed := map[int]booking.Seat{}
		for i := 1; i <= total; i++ {
			fold := maps.Clone(folds[i-1])
			e := eventstore.Event{Stream: showing, Seq: int64(i), ID: uuid.New(), Entity: "other", Type: "SomethingNew"}
			if rapid.Bool().Draw(t, "about a seat") {
				seat := rapid.SampledFrom(append([]booking.Seat{"Z9"}, codes...)).Draw(t, "seat")
				to := rapid.SampledFrom([]booking.Status{
					booking.Available, booking.Held, booking.Sold, booking.Blocked,
				}).Draw(t, "status")
				e = seatEvent(t, showing, int64(i), seat, to)
				if seat != "Z9" { // a seat that the layout doesn't have shows nowhere
					fold[seat], changed[i] = to, seat
				}
			}
			folds = append(folds, fold)
			if i <= loaded {
				require.NoError(t, state.Apply(e))
			}
			if i == loaded {
				s.replace("l", state, time.Now())
			}
			if i > loaded {
				if s.state == nil {
					s.replace("l", state, time.Now())
				}
				require.Len(t, s.apply("l", []eventstore.Event{e}).applied, 1)
			}
		}
		if s.state == nil {
			s.replace("l", state, time.Now())
		}
		from := rapid.IntRange(0, total).Draw(t, "from")
		d, ok := s.since("l", int64(from))
		require.True(t, ok)
		want := map[booking.Seat]booking.Status{}
		for i := from + 1; i <= total; i++ {
			if seat, ok := changed[i]; ok {
				want[seat] = folds[total][seat]
			}
		}
		require.Equal(t, want, d.Seats)
		available := 0
		shown := maps.Clone(folds[from])
		maps.Copy(shown, d.Seats)
		require.Equal(t, folds[total], shown)
		for _, status := range shown {
			if status == booking.Available {
				available++
			}
		}
		got, seq, _ := s.counts()
		require.Equal(t, available, got)
		require.Equal(t, int64(total), seq)
		require.LessOrEqual(t, len(s.seats.recent), 2*len(codes)+1)
	})
}

func TestRepeatsGapsAndOtherLogsChangeNothing(t *testing.T) {
	t.Parallel()
	showing := uuid.New()
	s := newShow(showing, []booking.Seat{"A1"}, &zipper{}, time.Now())
	event := func(seq int64) []eventstore.Event {
		return []eventstore.Event{seatEvent(t, showing, seq, "A1", booking.Held)}
	}
	require.True(t, s.apply("l", event(1)).behind, "no state yet")
	s.replace("l", booking.NewState(), time.Now())
	first := event(1)
	require.Len(t, s.apply("l", first).applied, 1)
	require.Equal(t, outcome{log: "l"}, s.apply("l", first))
	require.True(t, s.apply("l", event(3)).behind)
	require.True(t, s.apply("m", event(2)).diverged)
	require.True(t, s.apply("l", event(1)).diverged, "the same seq, another event")
	_, at, _ := s.position()
	require.Equal(t, eventstore.Position{Seq: 1, Event: first[0].ID}, at)
}

// What was told of a history that is gone is worth nothing, however often the map is rebuilt.
func TestSinceForgetsALostHistory(t *testing.T) {
	t.Parallel()
	showing := uuid.New()
	s := newShow(showing, []booking.Seat{"A1"}, &zipper{}, time.Now())
	state := func(seq int64) *booking.State {
		made := booking.NewState()
		for i := range seq {
			require.NoError(t, made.Apply(seatEvent(t, showing, i+1, "A1", booking.Held)))
		}
		return made
	}
	s.replace("l", state(7), time.Now())
	_, ok := s.since("l", 7)
	require.True(t, ok)
	restored := state(4)
	for range 2 {
		s.replace("l", restored, time.Now())
		for _, seq := range []int64{0, 4, 7, 8} {
			_, ok = s.since("l", seq)
			require.False(t, ok, "since %d", seq)
		}
	}
	for seq := int64(5); seq <= 9; seq++ {
		require.Len(t, s.apply("l", []eventstore.Event{seatEvent(t, showing, seq, "A1", booking.Sold)}).applied, 1)
	}
	_, ok = s.since("l", 7)
	require.False(t, ok)
	d, ok := s.since("l", 8)
	require.True(t, ok)
	require.Equal(t, int64(9), d.Seq)
	s.replace("m", state(2), time.Now())
	_, ok = s.since("m", 0)
	require.True(t, ok, "another log's seqs say nothing of this one's")
}

// An event that can't be read stops the map, which is called stale; it is reported once.
func TestAnUnreadableEventStopsTheMap(t *testing.T) {
	t.Parallel()
	showing := uuid.New()
	s := newShow(showing, []booking.Seat{"A1"}, &zipper{}, time.Now())
	s.replace("l", booking.NewState(), time.Now())
	bad := seatEvent(t, showing, 1, "A1", booking.Held)
	bad.Data = json.RawMessage(`[]`)
	require.Error(t, s.apply("l", []eventstore.Event{bad}).err)
	require.NoError(t, s.apply("l", []eventstore.Event{bad}).err)
	require.True(t, s.current().Stale)
	s.age(time.Now(), time.Hour)
	require.True(t, s.current().Stale)
}

func TestHeraldTellsInOrderAndOnce(t *testing.T) {
	t.Parallel()
	var told []int64
	h := herald{hook: func(b booking.Booking) { told = append(told, b.Seq) }}
	id := uuid.New()
	for _, seq := range []int64{3, 3, 5, 4, 5, 9} {
		h.tell("l", booking.Booking{ID: id, Seq: seq})
	}
	h.tell("m", booking.Booking{ID: id, Seq: 2})
	require.Equal(t, []int64{3, 5, 9, 2}, told)
	for range 3 * heraldMemory {
		h.tell("l", booking.Booking{ID: uuid.New(), Seq: 1})
	}
	require.LessOrEqual(t, len(h.young)+len(h.old), 2*heraldMemory)
}

func TestSeatCodesAreEscaped(t *testing.T) {
	t.Parallel()
	codes := []booking.Seat{`A"1`, `Ä\2`, "B1"}
	seats := map[string]string{}
	require.NoError(t, json.Unmarshal(encodeSeats(codes, []booking.Status{"sold", "held", "blocked"}), &seats))
	require.Equal(t, map[string]string{`A"1`: "sold", `Ä\2`: "held", "B1": "blocked"}, seats)
}

func TestConfigsAreValidated(t *testing.T) {
	t.Parallel()
	require.NoError(t, LiveConfig{}.WithDefaults().Validate())
	require.NoError(t, ProjectorConfig{}.WithDefaults().Validate())
	require.NoError(t, HinterConfig{}.WithDefaults().Validate())
	for i, err := range []error{
		LiveConfig{StaleAfter: -1}.WithDefaults().Validate(),
		LiveConfig{MaxMaps: -1}.WithDefaults().Validate(),
		LiveConfig{Page: 1}.WithDefaults().Validate(),
		ProjectorConfig{RefreshEvery: -1}.WithDefaults().Validate(),
		ProjectorConfig{MaxStates: -1}.WithDefaults().Validate(),
		HinterConfig{Queue: -1}.WithDefaults().Validate(),
	} {
		require.Error(t, err, strconv.Itoa(i))
	}
}
