package measure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Figure names one number of a round.
type Figure string

// The figures that most rows have. Times are in seconds, processor time in cores: seconds used a second.
const (
	// Rate is units of work a second.
	Rate Figure = "rate"
	// P50 and P99 are latencies.
	P50 Figure = "p50"
	P99 Figure = "p99"
	// SelfCPU, ServerCPU, PostgresCPU and RedisCPU are CPU's parts.
	SelfCPU     Figure = "self cpu"
	ServerCPU   Figure = "server cpu"
	PostgresCPU Figure = "postgres cpu"
	RedisCPU    Figure = "redis cpu"
)

// Sample is what one round yielded.
type Sample map[Figure]float64

// Latency puts a histogram's p50 and p99 into the sample.
func (s Sample) Latency(h *Histogram) {
	s[P50], s[P99] = h.Quantile(0.5).Seconds(), h.Quantile(0.99).Seconds()
}

// CPU puts the processor time used within a span into the sample.
func (s Sample) CPU(used CPU, span time.Duration) {
	for figure, d := range map[Figure]time.Duration{
		SelfCPU: used.Self, ServerCPU: used.Server, PostgresCPU: used.Postgres, RedisCPU: used.Redis,
	} {
		s[figure] = d.Seconds() / span.Seconds()
	}
}

// Contestant is one way to do the work.
type Contestant struct {
	Name string
	// Round does the work once and says how it went. What prepares it isn't part of what it measures.
	Round func(ctx context.Context) (Sample, error)
}

// Rounds says how often each contestant has its turn.
type Rounds struct {
	// Warmup rounds come first and aren't counted. Default 0.
	Warmup int
	// Measured rounds; at least 3 for a median that one bad round can't move.
	Measured int
	// Before runs before each round, such as to finish work that an earlier one left to the disk. Default: nothing.
	Before func(ctx context.Context) error
	// Told hears of each round when it ends. Default: nobody does.
	Told func(contestant string, round int, s Sample)
}

// Result is what a contestant's rounds came to.
type Result struct {
	Name string
	// Median of each figure on its own.
	Median Sample
	// Noise of each figure: from the lowest to the highest round, as a share of the median.
	Noise Sample
}

// Alternate gives all contestants their rounds in turns. The first error ends it.
func Alternate(ctx context.Context, r Rounds, contestants []Contestant) ([]Result, error) {
	samples := make([][]Sample, len(contestants))
	for round := range r.Warmup + r.Measured {
		for i, c := range contestants {
			if r.Before != nil {
				if err := r.Before(ctx); err != nil {
					return nil, err
				}
			}
			s, err := c.Round(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if r.Told != nil {
				r.Told(c.Name, round-r.Warmup, s)
			}
			if round >= r.Warmup {
				samples[i] = append(samples[i], s)
			}
		}
	}
	results := make([]Result, len(contestants))
	for i, c := range contestants {
		results[i] = summarise(c.Name, samples[i])
	}
	return results, nil
}

func summarise(name string, samples []Sample) Result {
	r := Result{Name: name, Median: Sample{}, Noise: Sample{}}
	byFigure := map[Figure][]float64{}
	for _, s := range samples {
		for figure, v := range s {
			byFigure[figure] = append(byFigure[figure], v)
		}
	}
	for figure, values := range maps.All(byFigure) {
		slices.Sort(values)
		middle := values[len(values)/2]
		if len(values)%2 == 0 {
			middle = (values[len(values)/2-1] + middle) / 2
		}
		r.Median[figure] = middle
		if middle != 0 {
			r.Noise[figure] = (values[len(values)-1] - values[0]) / middle
		}
	}
	return r
}
