package judge

import (
	"maps"
	"slices"
)

// Sample is what one process uses.
type Sample struct {
	// Goroutines and FDs (open file descriptors) are counts, RSS and Heap (in use) bytes.
	Goroutines, FDs int
	RSS, Heap       int64
}

// Slack is how much more of each a process may use after a run than before it: pools that were filled, a heap
// that has not shrunk yet.
type Slack Sample

// DefaultSlack is what warm pools of connections and a warm heap cost, and well below what one lost
// goroutine or descriptor for each client would.
func DefaultSlack() Slack { return Slack{Goroutines: 150, FDs: 64, RSS: 256 << 20, Heap: 64 << 20} }

// SoakSlack is for the means of two parts of a long run, in which everything is warm from the beginning: flat but for
// noise.
func SoakSlack() Slack { return Slack{Goroutines: 20, FDs: 10, RSS: 24 << 20, Heap: 16 << 20} }

// Growth compares processes, by name, before and after a run. A process that was not there before is compared
// with the largest that was. One that is gone has kept nothing.
func Growth(before, after map[string]Sample, slack Slack) []Violation {
	var f findings
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		if !known {
			was = largest(before)
		}
		now := after[name]
		compare := func(what string, was, now, slack int64) {
			if now > was+slack {
				f.add(NoGrowth, "%s: %s went from %d to %d, more than %d above", name, what, was, now, slack)
			}
		}
		compare("goroutines", int64(was.Goroutines), int64(now.Goroutines), int64(slack.Goroutines))
		compare("descriptors", int64(was.FDs), int64(now.FDs), int64(slack.FDs))
		compare("resident memory", was.RSS, now.RSS, slack.RSS)
		compare("heap", was.Heap, now.Heap, slack.Heap)
	}
	return f.all()
}

func largest(samples map[string]Sample) Sample {
	var most Sample
	for _, s := range samples {
		most.Goroutines = max(most.Goroutines, s.Goroutines)
		most.FDs = max(most.FDs, s.FDs)
		most.RSS = max(most.RSS, s.RSS)
		most.Heap = max(most.Heap, s.Heap)
	}
	return most
}
