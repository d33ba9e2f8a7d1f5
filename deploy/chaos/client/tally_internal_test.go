package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLatencies(t *testing.T) {
	t.Parallel()
	require.Equal(t, Latencies{}, latencies(nil))
	require.Equal(t, Latencies{Count: 1, P50: 7, P95: 7, P99: 7, Max: 7}, latencies([]time.Duration{7}))

	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i))
	}
	require.Equal(t, Latencies{Count: 200, P50: 100, P95: 190, P99: 198, Max: 200}, latencies(took))
}

func TestTallyBySecond(t *testing.T) {
	t.Parallel()
	begin := time.Now().Add(-10 * time.Second)
	tally := tally{begin: begin}
	tally.add(begin.Add(100*time.Millisecond), Answer{Status: 201}, nil)
	tally.add(begin.Add(1100*time.Millisecond), Answer{Status: 429}, nil)
	tally.add(begin.Add(1200*time.Millisecond), Answer{Status: 409}, nil)
	tally.add(begin.Add(1300*time.Millisecond), Answer{}, ErrNoAnswer)
	tally.add(begin.Add(1400*time.Millisecond), Answer{Status: 500}, nil)
	tally.unstarted(begin.Add(3 * time.Second))

	report := tally.report()
	counts := func(b LoadBucket) [5]int {
		return [5]int{b.Unstarted, b.Accepted.Count, b.Shed.Count, b.Refused.Count, b.Failed.Count}
	}
	require.Equal(t, [5]int{1, 1, 1, 1, 2}, counts(report.Total))
	require.Len(t, report.Seconds, 4)
	require.Equal(t, [5]int{0, 1, 0, 0, 0}, counts(report.Seconds[0]))
	require.Equal(t, [5]int{0, 0, 1, 1, 2}, counts(report.Seconds[1]))
	require.Equal(t, [5]int{0, 0, 0, 0, 0}, counts(report.Seconds[2]))
	require.Equal(t, [5]int{1, 0, 0, 0, 0}, counts(report.Seconds[3]))
}
