package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine that lost its power can leave the file empty or full of zeros; sales go on all the same.
func TestADamagedListOfProcessesDoesNotHinderTheStart(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\x00\x00\x00\x00", `{"1":{"pid":`, `[]`, `{"1":{"pid":-1,"start":1},"2":{"pid":1,"start":0}}`} {
		path := filepath.Join(t.TempDir(), "children.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		f := newFamily(path)
		require.NoError(t, f.endLeftovers(t.Context()), "%q", text)
		require.NoError(t, f.born(1, os.Getpid()))
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(written), fmt.Sprintf(`{"1":{"pid":%d,`, os.Getpid()))
	}
}
