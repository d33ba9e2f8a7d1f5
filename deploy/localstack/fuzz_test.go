package localstack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//fuzz:with ports.go durable.go lock.go

// Whatever the file of an earlier run says, only ports come of it that are ours to listen on; and what was written is
// read again.
func FuzzDecodePorts(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `{}`, `{"postgres":20001,"redis":20002}`, `{"postgres":0}`, `{"postgres":-1,"redis":65536}`, `{"postgres":2e4}`, `{"postgres":"20001"}`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		used := decodePorts(b)
		require.NotNil(t, used)
		for name, port := range used {
			require.True(t, port >= firstPort && port < lastPort, "%q listens on %d", name, port)
		}
		written, err := json.Marshal(used)
		require.NoError(t, err)
		require.Equal(t, used, decodePorts(written))
	})
}

// Whatever stands in the lock's file, reading whose it is takes little and says a number.
func FuzzReadPID(f *testing.F) {
	for _, seed := range []string{"", "4711\n", "-1", "99999999999999999999", " 7 ", "4711\n4712\n", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := strings.NewReader(text)
		pid := readPID(r)
		require.LessOrEqual(t, len(text)-r.Len(), 32)
		require.False(t, pid != 0 && !strings.ContainsAny(text, "0123456789"))
	})
}
