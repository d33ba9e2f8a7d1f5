package seatmap

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

func TestHintsRoundTrip(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	require.Equal(t, "01890a5d-ac96-774b-bcce-b302099a8057 42", EncodeHint(id, 42))
	showing, seq, err := DecodeHint("01890a5d-ac96-774b-bcce-b302099a8057 42")
	require.NoError(t, err)
	require.Equal(t, id, showing)
	require.Equal(t, int64(42), seq)
}

func FuzzDecodeHint(f *testing.F) {
	for _, seed := range []string{"", " ", "01890a5d-ac96-774b-bcce-b302099a8057 42", "x 1", "01890a5d-ac96-774b-bcce-b302099a8057 -1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		showing, seq, err := DecodeHint(text)
		if err != nil {
			return
		}
		require.Positive(t, seq)
		again, number, err := DecodeHint(EncodeHint(showing, seq))
		require.NoError(t, err)
		require.Equal(t, showing, again)
		require.Equal(t, seq, number)
	})
}

// Whatever comes in a delta, either it is refused or its events are exactly those it says.
func FuzzDecodeDelta(f *testing.F) {
	showing := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	events := []eventstore.Event{
		seatEvent(f, showing, 2, "A1", booking.Held), seatEvent(f, showing, 3, "A2", booking.Sold),
	}
	good, err := encodeDelta("l", 7, 1, events)
	require.NoError(f, err)
	m, err := decodeDelta(showing, string(good))
	require.NoError(f, err)
	require.Equal(f, deltaMessage{Log: "l", Epoch: 7, Prev: 1, Seq: 3, Events: events}, m)
	for _, seed := range []string{string(good), `{`, `null`, `{"log":"l","prev":1,"seq":9223372036854775807,"events":[{}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := decodeDelta(showing, text)
		if err != nil {
			return
		}
		require.NotEmpty(t, m.Log)
		require.Less(t, m.Prev, m.Seq)
		for i, e := range m.Events {
			require.Equal(t, showing, e.Stream)
			require.Equal(t, m.Prev+1+int64(i), e.Seq)
		}
		s := newShow(showing, []booking.Seat{"A1", "A2"}, &zipper{}, time.Now())
		s.replace(m.Log, booking.NewState(), time.Now())
		s.apply(m.Log, m.Events)
		require.LessOrEqual(t, s.state.Seq, m.Seq)
	})
}

func FuzzDecodeBookings(f *testing.F) {
	f.Add(`{"log":"l","events":[{"entity":"booking:01890a5d-ac96-774b-bcce-b302099a8057","seq":3,"data":{}}]}`)
	f.Add(`{"log":"l"}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := decodeBookings(text)
		if err == nil {
			require.NotEmpty(t, m.Log)
		}
	})
}

// Whatever is in the hash, either it is refused or it is a state that maps can be made of.
func FuzzDecodeStored(f *testing.F) {
	state := booking.NewState()
	require.NoError(f, state.Apply(seatEvent(f, uuid.New(), 1, "A1", booking.Held)))
	good, err := json.Marshal(state)
	require.NoError(f, err)
	f.Add("1", "7", "l", "1", state.Event.String(), "1", "1764511200000", string(good))
	f.Add("1", "7", "l", "1", state.Event.String(), "1", "0", `{"seq":1,"event":"`+state.Event.String()+`"}`)
	f.Add("1", "7", "l", "1", state.Event.String(), "1", "0", `{"seq":1,"seats":null,"bookings":null}`)
	f.Add("2", "", "", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, format, epoch, log, seq, event, taken, deadline, text string) {
		s, err := decodeStored(map[string]string{
			fieldFormat: format, fieldEpoch: epoch, fieldLog: log, fieldSeq: seq, fieldEvent: event,
			fieldTaken: taken, fieldDeadline: deadline, fieldState: text,
		})
		if err != nil {
			return
		}
		require.Equal(t, s.position, s.state.Position())
		number, err := strconv.ParseInt(seq, 10, 64)
		require.NoError(t, err)
		require.Equal(t, number, s.state.Seq)
		newSeats([]booking.Seat{"A1"}).reset(s.state)
		require.NoError(t, s.state.Apply(seatEvent(t, uuid.New(), s.state.Seq+1, "A1", booking.Sold)))
	})
}
