package client

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// LoadReport is what became of a load.
type LoadReport struct {
	Total   LoadBucket
	Seconds []LoadBucket // by the second, from the load's begin, in which each request was sent
}

// LoadBucket counts requests (hold, confirm, release) by how they ended.
type LoadBucket struct {
	Unstarted int       // purchases that found no place, or no seat, and were never begun
	Accepted  Latencies // 2xx
	Shed      Latencies // 429 and 503: refused before they were worked on
	Refused   Latencies // other 4xx
	Failed    Latencies // no answer, or one that the contract does not know
}

// Latencies is the distribution of how long a kind of answer took.
type Latencies struct {
	Count              int
	P50, P95, P99, Max time.Duration // 0 if there were none
}

// tally collects what a load is told. Its begin is set before anything is added.
type tally struct {
	begin time.Time

	mu      sync.Mutex
	samples []sample
	skipped []int // by second
}

// sample is one request.
type sample struct {
	second int
	took   time.Duration
	class  class
}

type class int

const (
	accepted class = iota
	shed
	turnedDown
	failed
	classes
)

func (t *tally) second(at time.Time) int { return int(at.Sub(t.begin) / time.Second) }

func (t *tally) unstarted(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	second := t.second(at)
	for len(t.skipped) <= second {
		t.skipped = append(t.skipped, 0)
	}
	t.skipped[second]++
}

func (t *tally) add(sent time.Time, a Answer, err error) {
	s := sample{second: t.second(sent), took: time.Since(sent), class: classOf(a, err)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.samples = append(t.samples, s)
}

func classOf(a Answer, err error) class {
	switch {
	case err != nil:
		return failed
	case a.OK():
		return accepted
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable:
		return shed
	case a.Status >= 400 && a.Status < 500:
		return turnedDown
	default:
		return failed
	}
}

func (t *tally) report() LoadReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	seconds := len(t.skipped)
	for _, s := range t.samples {
		seconds = max(seconds, s.second+1)
	}
	bySecond := make([][]sample, seconds)
	for _, s := range t.samples {
		bySecond[s.second] = append(bySecond[s.second], s)
	}
	report := LoadReport{Total: bucket(t.samples), Seconds: make([]LoadBucket, seconds)}
	for i, samples := range bySecond {
		report.Seconds[i] = bucket(samples)
	}
	for second, n := range t.skipped {
		report.Seconds[second].Unstarted = n
		report.Total.Unstarted += n
	}
	return report
}

func bucket(samples []sample) LoadBucket {
	var took [classes][]time.Duration
	for _, s := range samples {
		took[s.class] = append(took[s.class], s.took)
	}
	return LoadBucket{
		Accepted: latencies(took[accepted]), Shed: latencies(took[shed]),
		Refused: latencies(took[turnedDown]), Failed: latencies(took[failed]),
	}
}

// latencies sorts took.
func latencies(took []time.Duration) Latencies {
	if len(took) == 0 {
		return Latencies{}
	}
	slices.Sort(took)
	// The least latency that so many of a hundred do not exceed.
	percentile := func(p int) time.Duration { return took[(len(took)*p+99)/100-1] }
	return Latencies{Count: len(took), P50: percentile(50), P95: percentile(95), P99: percentile(99), Max: took[len(took)-1]}
}
