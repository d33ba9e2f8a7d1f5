package eventstore

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// What the database says of a request is read without a panic, whatever it says: an answer, or an error. What was read is
// whole and in UTC, and would be read the same again.
func FuzzVerdict(f *testing.F) {
	const (
		recorded = `{"session":"8b4a7c60-0000-4000-8000-000000000001","key":"k","route":"r","body":"\\x0101010101010101010101010101010101010101010101010101010101010101",` +
			`"booking":"8b4a7c60-0000-4000-8000-000000000002","status":201,"stream":"8b4a7c60-0000-4000-8000-000000000003","seq":3,"at":"2030-01-01T20:00:00.123456+00:00"}`
		present = `[{"stream":"8b4a7c60-0000-4000-8000-000000000003","seq":3,"id":"8b4a7c60-0000-4000-8000-000000000004",` +
			`"entity":"seat:A1","prev":0,"type":"Changed","data":{"a": 1},"deadline":null,"at":"2030-01-01T22:00:00+02:00"}]`
		held = `{"booking":{"id":"8b4a7c60-0000-4000-8000-000000000002","held":true,"deadline":"2030-01-01T20:00:00Z"},"event":{}}`
	)
	for _, seed := range []struct{ kind, detail string }{
		{"r", recorded},
		{"r", `{"body":"\\x01"}`},
		{"r", ``},
		{"g", present},
		{"g", `null`},
		{"h", held},
		{"h", `{}`},
		{"p", ``},
		{"m", ``},
		{"s", ``},
		{"c", ``},
		{"a", ``},
		{"?", ``},
	} {
		f.Add(seed.kind, int64(4), int64(4), int64(1_800_000_000), []byte(seed.detail))
	}
	f.Fuzz(func(t *testing.T, kind string, first, head, at int64, detail []byte) {
		v := verdict{kind: kind, first: first, at: time.Unix(at, 0), detail: detail}
		if head != 0 {
			v.head = &head
		}
		if len(detail) == 0 {
			v.detail = nil
		}
		req := &Request{
			Stream: uuid.Max, Command: Command{Route: "r"}, Checks: []Check{{Before: time.Unix(2_000_000_000, 0)}},
			Events: []NewEvent{{ID: uuid.Max, Entity: "seat:A1", Type: "Changed"}},
		}
		res, err := v.result(req)
		if err == nil {
			require.Equal(t, time.UTC, res.Now.Location())
			require.Equal(t, res.Replayed == nil, len(res.Events) == 1, "either events or an earlier outcome")
			return
		}
		require.NotEmpty(t, err.Error())
		if refused, ok := errors.AsType[*GuardError](err); ok {
			checkEvents(t, refused.Present...)
		}
		if other, ok := errors.AsType[*HeldError](err); ok {
			checkEvents(t, other.Event)
			require.Equal(t, time.UTC, other.Booking.Deadline.Location())
		}
	})
}

// checkEvents holds that events are in UTC, and that one which can be written is read the same again.
func checkEvents(t *testing.T, events ...Event) {
	t.Helper()
	for _, e := range events {
		require.Equal(t, time.UTC, e.At.Location())
		require.Equal(t, time.UTC, e.Deadline.Location())
		text, err := json.Marshal(e)
		if err != nil {
			continue // a year that JSON has no form for
		}
		var again Event
		require.NoError(t, json.Unmarshal(text, &again))
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(text), string(twice))
	}
}

// What is let through to the database is what it can keep: texts in UTF-8 without a zero, spans of the clock that it
// can write, an id for each event. And what was let through once is let through again, unchanged.
func FuzzNormalize(f *testing.F) {
	f.Add("k", "r", 201, "seat:A1", "Changed", []byte(`{"a":1}`), int64(0), int64(0), int64(600), "held", "")
	f.Add("\x00", "\xff", -1, "", "", []byte(`[]`), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), "", "\x00")
	f.Add(strings.Repeat("é", 510), "r", 999, "seat:\x00", "T", []byte(` {}`), int64(5), int64(253_402_300_799), int64(0), "held", "h")
	f.Fuzz(func(t *testing.T, key, route string, status int, entity, kind string, data []byte, prev, at, in int64, state, address string) {
		req := Request{
			Stream: uuid.Max, Command: Command{Key: key, Route: route, Status: status},
			Checks:   []Check{{From: time.Unix(at, 0), Before: time.Unix(in, 0)}},
			Events:   []NewEvent{{Entity: entity, Prev: prev, Type: kind, Data: data, Deadline: deadlineOf(at, in)}},
			Bookings: []BookingChange{{Entity: entity, Held: true, State: state, Address: address, Seats: status}},
		}
		normal, err := normalize(req)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		for _, text := range []string{normal.Command.Key, normal.Command.Route, normal.Events[0].Entity, normal.Events[0].Type, normal.Bookings[0].State, normal.Bookings[0].Address} {
			require.True(t, utf8.ValidString(text) && !strings.Contains(text, "\x00"), "%q", text)
		}
		e := normal.Events[0]
		require.NotEqual(t, uuid.Nil, e.ID)
		require.LessOrEqual(t, len(e.Data), MaxData)
		require.True(t, json.Valid(e.Data) && e.Data[0] == '{')
		require.True(t, e.Deadline.In == 0 || e.Deadline.At.IsZero())
		require.Zero(t, e.Deadline.In%time.Microsecond)
		for _, instant := range []time.Time{e.Deadline.At, normal.Checks[0].From, normal.Checks[0].Before} {
			_, err := instant.MarshalText()
			require.NoError(t, err)
		}
		again, err := normalize(normal)
		require.NoError(t, err)
		require.Equal(t, normal, again)
	})
}

func deadlineOf(at, in int64) Deadline {
	if at == 0 {
		return Deadline{In: time.Duration(in)}
	}
	return Deadline{At: time.Unix(at, in%1_000_000_000), In: time.Duration(in / 1_000_000_000)}
}

// Whatever a cursor says, a follower goes on after exactly the event that it names, or starts anew: it never skips one
// and never runs beyond the log.
func FuzzCursor(f *testing.F) {
	f.Add(int64(0), byte(0), int64(3))
	f.Add(int64(2), byte(2), int64(3))
	f.Add(int64(2), byte(3), int64(3))
	f.Add(int64(9), byte(9), int64(3))
	f.Add(int64(-1), byte(1), int64(3))
	f.Add(int64(math.MaxInt64), byte(255), int64(0))
	f.Add(int64(math.MinInt64), byte(1), int64(200))
	f.Fuzz(func(t *testing.T, seq int64, event byte, length int64) {
		length &= 0xFF
		events := make([]Event, length)
		for i := range events {
			events[i] = Event{Seq: int64(i) + 1, ID: uuid.UUID{byte(i) + 1}}
		}
		var head Position
		if length > 0 {
			head = Position{Seq: length, Event: events[length-1].ID}
		}
		cursor := Position{Seq: seq, Event: uuid.UUID{event}}
		p := begin(cursor)
		if p.reset {
			return // from the first event on
		}
		require.Positive(t, cursor.Seq)
		if astray(cursor, head) {
			return // found at the first look at the head
		}
		require.LessOrEqual(t, cursor.Seq, head.Seq)
		after, err := following(cursor, events[cursor.Seq-1:])
		if err != nil {
			require.ErrorIs(t, err, errAstray)
			require.NotEqual(t, events[cursor.Seq-1].ID, cursor.Event)
			return
		}
		require.Equal(t, events[cursor.Seq-1].ID, cursor.Event)
		require.Equal(t, events[cursor.Seq:], after)
	})
}

// Whatever URL an operator gives, and wherever its password ends up, the error that refuses it does not tell it.
func FuzzCheckURL(f *testing.F) {
	const password = "p4ssw0rd"
	f.Add("postgres://ann:", "@h:5432/db")
	f.Add("postgres://ann:", "/x@h/db")
	f.Add("postgres://ann:a/", "@h/db?sslmode=bogus")
	f.Add("postgres://h:1,h:", "/db")
	f.Add("postgres://h/db?sslmode=bogus&password=", "")
	f.Add("host=h sslmode=bogus password = '", "'")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, before, after string) {
		if err := CheckURL(before + password + after); err != nil {
			require.NotContains(t, err.Error(), password)
		}
	})
}

// What PostgreSQL writes of a hash is read back; nothing else is.
func FuzzBytea(f *testing.F) {
	f.Add([]byte(`"\\x` + strings.Repeat("0f", 32) + `"`))
	f.Add([]byte(`"\\X` + strings.Repeat("0F", 32) + `"`))
	f.Add([]byte(`"\\x"`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var hash byteaJSON
		if err := json.Unmarshal(text, &hash); err != nil {
			return
		}
		if string(text) == "null" {
			return
		}
		var spelled string
		require.NoError(t, json.Unmarshal(text, &spelled))
		require.Len(t, spelled, 2+2*len(hash))
	})
}
