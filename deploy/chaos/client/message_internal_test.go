package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeMessage(t *testing.T) {
	t.Parallel()
	var m message
	require.NoError(t, decodeMessage([]byte(`{"type":"delta","showing":"s1","prev":41,"seq":44,"seats":{"F7":"held", "F\u0038":"sold"},"new":[{"a":"}"},1]}`), &m))
	require.Equal(t, "delta", string(m.kind))
	require.Equal(t, "s1", string(m.showing))
	require.Equal(t, int64(41), m.prev)
	require.Equal(t, int64(44), m.seq)
	require.False(t, m.hasStale)
	require.Equal(t, [][2]string{{"F7", "held"}, {"F8", "sold"}}, seatsOf(t, &m))

	require.NoError(t, decodeMessage([]byte(`{"type":"bye","reason":"draining","retry_after_ms":1800}`), &m))
	require.Equal(t, "draining", string(m.reason))
	require.Equal(t, int64(1800), m.retryAfter)
	require.Nil(t, m.seats)
	require.Equal(t, int64(-1), m.prev)
}

func TestDecodeMessageRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `{`, `[]`, `"delta"`, `null`, `{"type":1}`, `{"seq":"1"}`, `{"seq":1.5}`, `{"seq":-1}`, `{"prev":null}`,
		`{"stale":"true"}`, `{"seats":["F7"]}`, `{"seq":9223372036854775808}`, `{"type":"pong"} {}`,
	} {
		var m message
		require.Error(t, decodeMessage([]byte(bad), &m), bad)
	}
}

func TestDecodingADeltaMakesNoGarbage(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts everybody's
	data := []byte(`{"type":"delta","showing":"0192f0c5-0000-7000-8000-000000000001","prev":41,"seq":44,"seats":{"F7":"held","F8":"held"}}`)
	h := newHouse([16]byte{}, []LayoutSeat{{Seat: "F7", Row: "F", X: 7}, {Seat: "F8", Row: "F", X: 8}})
	var m message
	found := 0
	allocated := testing.AllocsPerRun(100, func() {
		_ = decodeMessage(data, &m)
		_ = m.eachSeat(func(seat, _ []byte) error {
			found += h.index[string(seat)]
			return nil
		})
	})
	require.LessOrEqual(t, allocated, 1.0)
	require.Positive(t, found)
}

func seatsOf(t *testing.T, m *message) [][2]string {
	t.Helper()
	var seats [][2]string
	require.NoError(t, m.eachSeat(func(seat, status []byte) error {
		seats = append(seats, [2]string{string(seat), string(status)})
		return nil
	}))
	return seats
}
