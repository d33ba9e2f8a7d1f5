package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The invariants, by the names that a table of runs shows.
const (
	// NoTwoOwners: a seat never has two live owners.
	NoTwoOwners = "no two owners"
	// NothingLost: what was acknowledged is in the log, and what is in the log was asked for.
	NothingLost = "nothing lost"
	// ProjectedOnce: each event of the log is projected, and by a leader's term no more than once.
	ProjectedOnce = "projected once"
	// NeverBack: a snapshot never goes back, and an earlier leader never writes after a later one.
	NeverBack = "never back"
	// WatchersRight: every watcher's map is what the log says.
	WatchersRight = "watchers right"
	// NoGrowth: no goroutine, descriptor or memory is kept.
	NoGrowth = "no growth"
	// SameAnswer: a command has one outcome, however often it is sent, and the log has the same.
	SameAnswer = "same answer"
	// RefusalsTrue: what was refused was not done, and for the reason that was given.
	RefusalsTrue = "refusals true"
	// DeadlinesKept: a hold lasts exactly as long as was said: nothing lengthens or shortens it.
	DeadlinesKept = "deadlines kept"
	// Bounded: under more than it can serve, a server answers what it accepts in bounded time and refuses the rest early.
	Bounded = "bounded"
	// Unjudged: the judge could not come to an end, which is no acquittal.
	Unjudged = "could not be judged"
)

// Invariants are all of them, in the order of a table's columns.
func Invariants() []string {
	return []string{
		NoTwoOwners, NothingLost, ProjectedOnce, NeverBack, WatchersRight, NoGrowth, SameAnswer, RefusalsTrue, DeadlinesKept,
		Bounded, Unjudged,
	}
}

// mostDetails is how many violations of one invariant a check tells in full; the rest it counts.
const mostDetails = 20

// Violation is one thing that should not have been.
type Violation struct {
	// Invariant is one of the names above.
	Invariant string `json:"invariant"`
	// Detail says what was seen, where and when.
	Detail string `json:"detail"`
}

func (v Violation) String() string { return v.Invariant + ": " + v.Detail }

// findings gathers violations, and tells mostDetails of each invariant.
type findings struct {
	told  []Violation
	count map[string]int
}

func (f *findings) add(invariant, format string, args ...any) {
	if f.count == nil {
		f.count = map[string]int{}
	}
	f.count[invariant]++
	if f.count[invariant] <= mostDetails {
		f.told = append(f.told, Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
	}
}

// all are the violations, with a last one of each invariant that counts what was left out.
func (f *findings) all() []Violation {
	all := slices.Clone(f.told)
	for _, invariant := range Invariants() {
		if more := f.count[invariant] - mostDetails; more > 0 {
			all = append(all, Violation{Invariant: invariant, Detail: fmt.Sprintf("… and %d more of these", more)})
		}
	}
	return all
}

// Verdict is what became of a run.
type Verdict struct {
	// Violations of all kinds; none means that every claim held.
	Violations []Violation
	// Operations that clients asked for, Seats whose history was judged, Events in the log, Sales in it.
	Operations, Seats, Events, Sales int
	// Watchers whose maps were compared, Messages that the observer heard.
	Watchers int
	Messages int64
	// Took is how long the run lasted.
	Took time.Duration
}

// OK says that nothing was violated.
func (v *Verdict) OK() bool { return len(v.Violations) == 0 }

// Add takes in what a check found.
func (v *Verdict) Add(found ...Violation) { v.Violations = append(v.Violations, found...) }

// Broken counts the violations of each invariant that has any.
func (v *Verdict) Broken() map[string]int {
	counts := map[string]int{}
	for _, one := range v.Violations {
		counts[one.Invariant]++
	}
	return counts
}

// String is the verdict for people: a line of counts, then the violations in the order of Invariants.
func (v *Verdict) String() string {
	var b strings.Builder
	word := "every claim held"
	if !v.OK() {
		word = fmt.Sprintf("%d violations", len(v.Violations))
	}
	fmt.Fprintf(&b, "%s: %d operations on %d seats, %d events, %d sales, %d watchers, %d messages in %v\n",
		word, v.Operations, v.Seats, v.Events, v.Sales, v.Watchers, v.Messages, v.Took.Round(time.Millisecond))
	order := Invariants()
	sorted := slices.Clone(v.Violations)
	slices.SortStableFunc(sorted, func(a, b Violation) int {
		return cmp.Compare(slices.Index(order, a.Invariant), slices.Index(order, b.Invariant))
	})
	for _, one := range sorted {
		fmt.Fprintf(&b, "  %s\n", one)
	}
	return b.String()
}
