package realtime

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDecodeCommand(t *testing.T) {
	t.Parallel()
	showing := uuid.MustParse("0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001")
	for text, want := range map[string]command{
		`{"type":"ping"}`: {kind: commandPing},
		`{"type":"unsubscribe","showing":"0B0F5D4E-5d3c-4d0f-8a36-0d4b0ce0a001"}`: {kind: commandUnsubscribe, showing: showing},
		`{"type":"subscribe","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001"}`:   {kind: commandSubscribe, showing: showing},
		`{"since":0,"log":"k","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001","type":"subscribe"}`: {
			kind: commandSubscribe, showing: showing, resume: resume{log: "k", since: 0},
		},
		`{"type":"subscribe","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001","log":null,"since":null}`: {
			kind: commandSubscribe, showing: showing,
		},
	} {
		got, err := decodeCommand([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "tonight", "{0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001}", "0b0f5d4e5d3c4d0f8a360d4b0ce0a001"} {
		_, err := decodeCommand([]byte(`{"type":"subscribe","showing":"` + text + `"}`))
		require.ErrorIs(t, err, ErrUnknownShowing, text)
	}
}

// Clients read what is wrong in the protocol's words, never in those of our code.
func TestDetailsSpeakTheProtocol(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "not JSON",
		"hello":                            "not JSON",
		`{"type":"ping"`:                   "not JSON",
		`["ping"]`:                         "not a JSON object",
		`"ping"`:                           "not a JSON object",
		`null`:                             "unknown type",
		`{"type":7}`:                       "type has the wrong JSON type",
		`{"type":"ping","id":1}`:           "unknown field",
		`{"type":"subscribe","since":"1"}`: "since has the wrong JSON type",
		`{"type":"subscribe","since":1.5}`: "since has the wrong JSON type",
		`{"type":"subscribe","showing":{"id":1}}`: "showing has the wrong JSON type",
	} {
		_, err := decodeCommand([]byte(text))
		var bad *badMessageError
		require.ErrorAs(t, err, &bad, text)
		require.Equal(t, want, bad.detail, text)
	}
}

func TestRateIsExactOverAnyOneSecond(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	r := newRate(3, begin)
	for _, step := range []struct {
		ms    int
		allow bool
	}{
		{0, true}, {10, true}, {999, true}, // three in the first second
		{1000, true},               // the first of them is a second ago
		{1009, false},              // 10, 999 and 1000 are within a second of it
		{2005, true}, {2008, true}, // what was refused counts too: 1009, 2005, 2008
		{2009, true}, {2010, false}, // 2005 to 2010 holds four
		{60000, true},
	} {
		require.Equal(t, step.allow, r.allow(at(step.ms)), "at %d ms", step.ms)
	}
}

// The count of milliseconds is 32 bits wide, and a socket may outlive it.
func TestRateOutlivesItsCounter(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	wrap := begin.Add(time.Duration(1<<32) * time.Millisecond)
	r := newRate(2, begin)
	require.True(t, r.allow(wrap.Add(-2*time.Second)))
	require.True(t, r.allow(wrap.Add(-10*time.Millisecond)))
	require.True(t, r.allow(wrap.Add(10*time.Millisecond)))
	require.False(t, r.allow(wrap.Add(20*time.Millisecond)))
}

func TestSpreadGivesEachItsOwnTime(t *testing.T) {
	t.Parallel()
	require.Empty(t, spread(0, 1000))
	require.Equal(t, []time.Duration{time.Second}, spread(1, 1000))
	require.ElementsMatch(t, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond, time.Second}, spread(4, 1000))
	for n, longest := range map[int]time.Duration{5000: 5 * time.Second, 500: time.Second, 20000: 20 * time.Second} {
		seen := make(map[int64]bool, n)
		last := time.Duration(0)
		for _, d := range spread(n, 1000) {
			seen[d.Milliseconds()] = true
			last = max(last, d)
		}
		require.Len(t, seen, n)
		require.Equal(t, longest, last)
	}
}

// A newcomer's delta with the room's latest step laid over it is the delta to where the room is,
// wherever in between it was taken.
func TestOverlayIsTheDeltaOfBoth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seats := []string{"A1", "A2", "A3"}
		history := []map[string]string{{"A1": "available", "A2": "available", "A3": "available"}}
		touched := []map[string]int{{}}
		for range rapid.IntRange(0, 12).Draw(rt, "changes") {
			now, at := map[string]string{}, map[string]int{}
			for _, seat := range seats {
				now[seat], at[seat] = history[len(history)-1][seat], touched[len(history)-1][seat]
			}
			seat := rapid.SampledFrom(seats).Draw(rt, "seat")
			now[seat] = rapid.SampledFrom([]string{"available", "held", "sold"}).Draw(rt, "status")
			at[seat] = len(history)
			history, touched = append(history, now), append(touched, at)
		}
		since := func(from, to int) Delta {
			d := Delta{Prev: int64(from), Seq: int64(to), Seats: map[string]string{}}
			for _, seat := range seats {
				if touched[to][seat] > from {
					d.Seats[seat] = history[to][seat]
				}
			}
			return d
		}
		last := len(history) - 1
		taken := rapid.IntRange(0, last).Draw(rt, "when the newcomer's was taken")
		room := rapid.IntRange(0, taken).Draw(rt, "where the room was")
		from := rapid.IntRange(0, room).Draw(rt, "where the newcomer was")
		require.Equal(rt, since(from, last), overlay(since(from, taken), since(room, last)))
	})
}

func TestHeaderSizes(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{
		0:       "\x81\x00",
		125:     "\x81\x7d",
		126:     "\x81\x7e\x00\x7e",
		0xFFFF:  "\x81\x7e\xff\xff",
		0x10000: "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
	} {
		f := newFrame(finalText, make([]byte, size))
		require.Equal(t, want, string(f.wire[:len(f.wire)-size]))
		require.Len(t, f.wire, cap(f.wire), "nothing is left over in a frame that is kept")
	}
}

// After the handshake nothing of the WebSocket library reaches the line.
func TestSealedWireIsReadOnly(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.seal(4096)
	_, err := w.Write([]byte("x"))
	require.ErrorIs(t, err, errNotTheWriter)
	require.NoError(t, w.SetWriteDeadline(time.Now()))
}
