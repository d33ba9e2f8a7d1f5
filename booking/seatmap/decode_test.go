package seatmap

import (
	"strings"
	"testing"

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

// A delta is read as it was written, and carries its events unless there are too many.
func TestDeltasRoundTrip(t *testing.T) {
	t.Parallel()
	showing := uuid.MustParse(fuzzShowing)
	events := []eventstore.Event{
		seatEvent(t, showing, 2, "A1", booking.Held), seatEvent(t, showing, 3, "A2", booking.Sold),
	}
	good, err := encodeDelta("l", 7, 1, events)
	require.NoError(t, err)
	m, err := decodeDelta(showing, string(good))
	require.NoError(t, err)
	require.Equal(t, deltaMessage{Log: "l", Epoch: 7, Prev: 1, Seq: 3, Events: events}, m)
}

// A log's id goes to clients and into a header: what can't be one is refused where it is read.
func TestALogsIDIsChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"3f9a0c12be77": true, "K3-f9": true, "": false, "a b": false, "a\r\nb": false, `a"`: false, "é": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		require.Equal(t, want, isLog(text), "%q", text)
	}
}
