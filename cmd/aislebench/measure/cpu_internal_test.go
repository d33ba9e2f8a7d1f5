package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	p, err := parseStat("42 (odd) name) S 7 42 42 0 -1 4194560 900 0 0 0 150 50 1000 200 20 0 1 0 99 0 0\n")
	require.NoError(t, err)
	require.Equal(t, process{name: "odd) name", parent: 7, own: 2 * time.Second, ended: 12 * time.Second}, p)

	for _, bad := range []string{"", "42", "42 (x", ") (", "42 (x) S 7", "42 (x) S y 0 0 0 0 0 0 0 0 0 1 2 3 4"} {
		_, err := parseStat(bad)
		require.Error(t, err, bad)
	}
}

func TestBelowGoesUpTheTree(t *testing.T) {
	t.Parallel()
	all := map[int]process{2: {parent: 1}, 3: {parent: 2}, 9: {parent: 8}, 4: {parent: 4}}
	require.True(t, below(all, 3, 1))
	require.True(t, below(all, 2, 1))
	require.False(t, below(all, 9, 1))
	require.False(t, below(all, 4, 1), "a circle ends")
}

func TestReadCPU(t *testing.T) {
	t.Parallel()
	before, err := ReadCPU()
	require.NoError(t, err)
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; { // it burns processor time
	}
	after, err := ReadCPU()
	require.NoError(t, err)
	require.Positive(t, after.Since(before).Self)
	require.Zero(t, after.Since(before).Redis)
}
