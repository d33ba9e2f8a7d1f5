package scenario

import (
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// Report is what became of a run.
type Report struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Plant is the bug that was planted; empty for none.
	Plant string `json:"plant,omitempty"`
	// Took is the whole run, RightAfter the time from the repair to when the last watcher was right.
	Took       time.Duration `json:"took"`
	RightAfter time.Duration `json:"right_after"`
	// Operations are the commands of the buyers, Unknown those that never had a final answer.
	Operations int `json:"operations"`
	Unknown    int `json:"unknown"`
	Sales      int `json:"sales"`
	// Events in the log.
	Events     int   `json:"events"`
	Watchers   int   `json:"watchers"`
	Messages   int64 `json:"messages"`
	Reconnects int64 `json:"reconnects"`
	Gaps       int64 `json:"gaps"`
	// Before, During and After are sales a second in each phase, Lasted how long the fault did.
	Before     float64           `json:"before"`
	During     float64           `json:"during"`
	After      float64           `json:"after"`
	Lasted     time.Duration     `json:"lasted"`
	Violations []judge.Violation `json:"violations"`
}

// OK says that no invariant was broken.
func (r Report) OK() bool { return len(r.Violations) == 0 }

// Broken says whether an invariant was.
func (r Report) Broken(invariant string) bool {
	for _, v := range r.Violations {
		if v.Invariant == invariant {
			return true
		}
	}
	return false
}

// phase counts what was sold before the fault, while it lasted and after the repair.
func (r *Report) phase(h *history.Recorder, started, broke, repaired, stopped time.Time) {
	rate := func(from, to time.Time) float64 {
		return float64(h.Sales(from, to)) / max(to.Sub(from).Seconds(), 0.001)
	}
	// The first second is the one in which everybody comes.
	r.Before, r.During, r.After = rate(started.Add(time.Second), broke), rate(broke, repaired), rate(repaired, stopped)
	r.Lasted = repaired.Sub(broke)
	for count, n := range h.Counts() {
		switch {
		case count.Outcome == history.Unknown:
			r.Unknown += n
		case count.Kind == history.Confirm && count.Outcome == history.OK:
			r.Sales += n
		}
	}
}
