package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//fuzz:with family.go pause.go

// Whatever the file of an earlier run says, nobody is named whom a supervisor may not end: no process group, not the
// machine's first process; and what a supervisor wrote is read again.
func FuzzDecodeFamily(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `{"0":{"pid":4711,"start":123}}`, `{"0":{"pid":-1,"start":123}}`, `{"0":{"pid":0,"start":1},"1":{"pid":1,"start":1}}`,
		`{"0":{"pid":4711,"start":-1}}`, `{"x":{"pid":4711,"start":1}}`, `{"0":{"pid":1e9,"start":18446744073709551615}}`, "\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		children := decodeFamily(b)
		for _, c := range children {
			require.Greater(t, c.PID, 1)
			require.NotZero(t, c.Start)
		}
		if len(children) == 0 {
			return
		}
		written, err := json.Marshal(children)
		require.NoError(t, err)
		require.Equal(t, children, decodeFamily(written))
	})
}

// A program's name may be anything: its start time is found behind it all the same.
func FuzzDecodeStat(f *testing.F) {
	f.Add("", "", uint64(0))
	f.Add("aisle", "S", uint64(123))
	f.Add("a) R 1 2 (b", "Z", uint64(123))
	f.Add("\n) ) )", "R", uint64(1<<64-1))
	f.Fuzz(func(t *testing.T, name, state string, started uint64) {
		decodeStat(name) // no panic
		if state == "" || strings.ContainsAny(state, ")\t\n\v\f\r ") || strings.Fields(state)[0] != state {
			return
		}
		stat := fmt.Sprintf("4711 (%s) %s%s %d 0 0", name, state, strings.Repeat(" 1", 18), started)
		start, alive := decodeStat(stat)
		require.Equal(t, state != "Z", alive)
		if alive {
			require.Equal(t, started, start)
		}
	})
}
