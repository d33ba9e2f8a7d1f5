package client

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The decoder is made for speed; what it reads must be what encoding/json reads.
func FuzzDecodeMessage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"snapshot","showing":"s","log":"k3f9","seq":41,"stale":false,"seats":{"A1":"available"}}`,
		`{"type":"delta","showing":"s","prev":41,"seq":44,"seats":{"F7":"held","F7":"sold"}}`,
		`{"type":"bye","reason":"slow","retry_after_ms":1800}`,
		` { "type" : "error" , "code" : "bad-message" , "detail" : [ "\"}" , { } , -1.5e3 , null ] } `,
		`{"t\u0079pe":"pong"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m message
		err := decodeMessage(data, &m)
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) != nil || fields == nil {
			require.Error(t, err)
			return
		}
		if err != nil {
			return // of a known field with another type
		}
		sameText(t, fields["type"], m.kind)
		sameText(t, fields["log"], m.log)
		sameCount(t, fields["seq"], m.seq)
		sameCount(t, fields["prev"], m.prev)
		sameSeatMap(t, fields["seats"], &m)
	})
}

func sameText(t *testing.T, raw json.RawMessage, got []byte) {
	t.Helper()
	var want string
	if raw != nil {
		require.NoError(t, json.Unmarshal(raw, &want))
	}
	require.Equal(t, want, string([]rune(string(got))))
}

func sameCount(t *testing.T, raw json.RawMessage, got int64) {
	t.Helper()
	want := int64(-1)
	if raw != nil {
		require.NoError(t, json.Unmarshal(raw, &want))
	}
	require.Equal(t, want, got)
}

func sameSeatMap(t *testing.T, raw json.RawMessage, m *message) {
	t.Helper()
	if raw == nil {
		require.Nil(t, m.seats)
		return
	}
	got := make(map[string]string)
	err := m.eachSeat(func(seat, status []byte) error {
		got[string([]rune(string(seat)))] = string([]rune(string(status)))
		return nil
	})
	if err != nil {
		return // a status that is no string
	}
	var want map[string]string
	require.NoError(t, json.Unmarshal(raw, &want))
	require.Equal(t, want, got)
}
