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

const (
	fuzzShowing = "01890a5d-ac96-774b-bcce-b302099a8057"
	fuzzBooking = "01890a5d-ac96-774b-bcce-b302099a8058"
	fuzzEvent   = "01890a5d-ac96-774b-bcce-b302099a8059"
)

func FuzzDecodeHint(f *testing.F) {
	for _, seed := range []string{"", " ", fuzzShowing + " 42", "x 1", fuzzShowing + " -1", "urn:uuid:" + fuzzShowing + " +7", fuzzShowing + " 9223372036854775808"} {
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

// seatBody is a seat's event as it travels.
func seatBody(seq, seat, status string) string {
	return `{"stream":"` + fuzzShowing + `","seq":` + seq + `,"id":"` + fuzzEvent + `","entity":"seat:` + seat + `","type":"SeatStatusChanged",` +
		`"data":{"booking":"` + fuzzBooking + `","seat":"` + seat + `","current":"` + status + `"},"at":"2026-11-30T12:00:00Z"}`
}

// Whatever comes in a delta, either it is refused, or its events are exactly those it says; written again it says the
// same; and a map that takes it in stays a map.
func FuzzDecodeDelta(f *testing.F) {
	for _, seed := range []string{
		`{"log":"l","epoch":7,"prev":1,"seq":3,"events":[` + seatBody("2", "A1", "held") + `,` + seatBody("3", "A2", "sold") + `]}`,
		`{"log":"l","prev":0,"seq":1,"events":[` + seatBody("1", "A1", "gone") + `]}`,
		`{`, `null`, `{"log":"l","prev":1,"seq":9223372036854775807,"events":[{}]}`, `{"log":"l\r\n","prev":0,"seq":300}`,
	} {
		f.Add(seed)
	}
	showing := uuid.MustParse(fuzzShowing)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := decodeDelta(showing, text)
		if err != nil {
			return
		}
		require.True(t, isLog(m.Log))
		require.Less(t, m.Prev, m.Seq)
		for i, e := range m.Events {
			require.Equal(t, showing, e.Stream)
			require.Equal(t, m.Prev+1+int64(i), e.Seq)
		}
		if n := len(m.Events); n > 0 && n <= maxDeltaEvents {
			written, err := encodeDelta(m.Log, m.Epoch, m.Prev, m.Events)
			require.NoError(t, err)
			again, err := decodeDelta(showing, string(written))
			require.NoError(t, err)
			rewritten, err := encodeDelta(again.Log, again.Epoch, again.Prev, again.Events)
			require.NoError(t, err)
			require.Equal(t, string(written), string(rewritten))
		}
		s := newShow(showing, []booking.Seat{"A1", "A2"}, &zipper{}, time.Now())
		s.replace(m.Log, booking.NewState(), time.Now())
		s.apply(m.Log, m.Events)
		require.LessOrEqual(t, s.state.Seq, m.Seq)
		checkShow(t, s)
	})
}

// checkShow holds that what clients get of a map is whole: each seat once, with a status that there is.
func checkShow(t *testing.T, s *show) {
	t.Helper()
	snapshot := s.current()
	require.Regexp(t, `^"[A-Za-z0-9-]+"$`, snapshot.ETag)
	var body struct {
		Log   string                          `json:"log"`
		Seq   int64                           `json:"seq"`
		Seats map[booking.Seat]booking.Status `json:"seats"`
	}
	require.NoError(t, json.Unmarshal(snapshot.JSON(), &body))
	require.Equal(t, s.log, body.Log)
	require.Equal(t, s.state.Seq, body.Seq)
	require.Len(t, body.Seats, 2)
	free := 0
	for seat, status := range body.Seats {
		require.True(t, status.Known(), "%q is %q", seat, status)
		if status == booking.Available {
			free++
		}
	}
	require.Equal(t, free, s.seats.available)
	whole, ok := s.since(s.log, s.floor)
	require.True(t, ok)
	for seat, status := range whole.Seats {
		require.Equal(t, body.Seats[seat], status)
	}
}

// Whatever comes as bookings, it is refused or has nothing but bookings' own events.
func FuzzDecodeBookings(f *testing.F) {
	f.Add(`{"log":"l","events":[{"stream":"` + fuzzShowing + `","seq":3,"entity":"booking:` + fuzzBooking + `","data":{"booking":"` + fuzzBooking + `","state":"held","seats":["A1"]}}]}`)
	f.Add(`{"log":"l","events":[` + seatBody("3", "A1", "held") + `]}`)
	f.Add(`{"log":"l","events":[{"seq":-1}]}`)
	f.Add(`{"log":"l"}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := decodeBookings(text)
		if err != nil {
			return
		}
		require.True(t, isLog(m.Log))
		for _, e := range m.Events {
			require.Positive(t, e.Seq)
			require.NotEqual(t, uuid.Nil, e.Stream)
			b, err := booking.Read(e, time.Time{})
			if err == nil {
				require.Equal(t, booking.BookingEntity(b.ID), e.Entity)
			}
		}
		written, err := encodeBookings(m.Log, m.Events)
		require.NoError(t, err)
		if len(m.Events) == 0 {
			require.Nil(t, written)
			return
		}
		again, err := decodeBookings(string(written))
		require.NoError(t, err)
		require.Len(t, again.Events, len(m.Events))
	})
}

// Whatever is in the hash, either it is refused or it is a state that maps can be made of, commands judged by, and
// events applied to; and the projector would write it so that it is read the same again.
func FuzzDecodeStored(f *testing.F) {
	seat := `"seats":{"A1":{"status":"held","booking":"` + fuzzBooking + `","seq":1,"deadline":"2026-12-01T20:00:00Z"}}`
	own := `"bookings":{"` + fuzzBooking + `":{"session":"` + fuzzBooking + `","state":"held","seats":["A1"],"total":{"amount":1,"currency":"EUR"},"seq":1}}`
	add := func(format, text string) {
		f.Add(format, "7", "l", "1", fuzzEvent, "1", "1764511200000", text)
	}
	add("1", `{"seq":1,"event":"`+fuzzEvent+`",`+seat+`,`+own+`}`)
	add("1", `{"seq":1,"event":"`+fuzzEvent+`",`+seat+`,`+own+`,"ended":"AAAA"}`)
	add("1", `{"seq":1,"event":"`+fuzzEvent+`"}`)
	add("1", `{"seq":1,"event":"`+fuzzEvent+`","seats":null,"bookings":null}`)
	add("1", `{"seq":1,"event":"`+fuzzEvent+`","seats":{"A1":{"status":"gone","seq":1}},"bookings":{}}`)
	add("2", ``)
	f.Add("1", "-7", "l\n", "x", "", "-1", "9223372036854775807", `{}`)
	f.Fuzz(func(t *testing.T, format, epoch, log, seq, event, taken, deadline, text string) {
		s, err := decodeStored(map[string]string{
			fieldFormat: format, fieldEpoch: epoch, fieldLog: log, fieldSeq: seq, fieldEvent: event,
			fieldTaken: taken, fieldDeadline: deadline, fieldState: text,
		})
		if err != nil {
			require.Equal(t, stored{}, s)
			return
		}
		require.Equal(t, s.position, s.state.Position())
		number, err := strconv.ParseInt(seq, 10, 64)
		require.NoError(t, err)
		require.Equal(t, number, s.state.Seq)

		looked := newShow(uuid.MustParse(fuzzShowing), []booking.Seat{"A1", "A2"}, &zipper{}, time.Now())
		looked.replace(s.log, s.state, time.Now())
		checkShow(t, looked)
		s.state.View([]booking.Seat{"A1", "A2"}, uuid.MustParse(fuzzBooking))
		(&projection{state: s.state}).sum()
		checkRewritten(t, s)

		for _, e := range []eventstore.Event{
			{Entity: "seat:A1", Type: booking.TypeSeatStatusChanged, Data: json.RawMessage(`{"seat":"A1","current":"sold"}`)},
			{Entity: "booking:" + fuzzBooking, Type: booking.TypeBookingSeatGivenBack, Data: json.RawMessage(`{"booking":"` + fuzzBooking + `","state":"held","seats":["A2"]}`)},
			{Entity: "booking:" + fuzzBooking, Type: booking.TypeBookingExpired, Data: json.RawMessage(`{"booking":"` + fuzzBooking + `","state":"expired"}`)},
		} {
			if s.state.Seq == 1<<63-1 {
				return
			}
			e.Seq = s.state.Seq + 1
			require.NoError(t, s.state.Apply(e))
		}
		require.True(t, s.state.View(nil, uuid.MustParse(fuzzBooking)).MayHaveEnded)
	})
}

// checkRewritten holds that a snapshot that was read is read the same again when it is written.
func checkRewritten(t *testing.T, s stored) {
	t.Helper()
	text, err := json.Marshal(s.state)
	require.NoError(t, err)
	again, err := decodeStored(map[string]string{
		fieldFormat: storedFormat, fieldEpoch: strconv.FormatInt(s.epoch, 10), fieldLog: s.log,
		fieldSeq: strconv.FormatInt(s.position.Seq, 10), fieldEvent: s.position.Event.String(), fieldTaken: strconv.Itoa(s.taken),
		fieldDeadline: strconv.FormatInt(encodeDeadline(s.deadline), 10), fieldState: string(text),
	})
	require.NoError(t, err)
	require.Equal(t, s.header, again.header)
	rewritten, err := json.Marshal(again.state)
	require.NoError(t, err)
	require.Equal(t, string(text), string(rewritten))
}
