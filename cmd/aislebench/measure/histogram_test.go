package measure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

func TestQuantilesOfKnownDurations(t *testing.T) {
	t.Parallel()
	var h measure.Histogram
	require.Zero(t, h.Quantile(0.5))
	for ms := 1; ms <= 100; ms++ {
		h.Add(time.Duration(ms) * time.Millisecond)
	}
	require.Equal(t, uint64(100), h.Count())
	require.InEpsilon(t, 50*time.Millisecond, h.Quantile(0.5), 0.02)
	require.InEpsilon(t, 99*time.Millisecond, h.Quantile(0.99), 0.02)
	require.InEpsilon(t, 100*time.Millisecond, h.Quantile(1), 0.02)
}

// One duration comes back as itself, wrong by at most a 64th, whatever its size.
func TestAnyDurationComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(8*time.Minute)).Draw(t, "d"))
		var h, merged measure.Histogram
		h.Add(d)
		merged.Merge(&h)
		require.InDelta(t, float64(d), float64(merged.Quantile(0.5)), float64(d)/64)
	})
}

func TestDurationsOutOfRangeAreCounted(t *testing.T) {
	t.Parallel()
	var h measure.Histogram
	h.Add(-time.Second)
	h.Add(24 * time.Hour)
	require.Equal(t, uint64(2), h.Count())
	require.Zero(t, h.Quantile(0))
	require.Greater(t, h.Quantile(1), 5*time.Minute)
}
