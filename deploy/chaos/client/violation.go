package client

import (
	"fmt"
	"slices"
	"sync"
)

// The invariants that clients judge themselves.
const (
	SameAnswer    = "same answer"    // a key gives the same answer whenever it is sent, and that is what was asked for
	WatchersRight = "watchers right" // the live protocol is kept: whoever applies its messages has the map
	NeverBack     = "never back"     // a showing's seq never goes back on one connection
)

// Violation is something a client saw that cannot be right.
type Violation struct {
	Invariant string // one of the constants above
	Detail    string // who saw what, where
}

// maxViolations is how many violations are kept in full: a broken server breaks everything, thousands of times.
const maxViolations = 100

// violations collects what was seen; its zero value is ready and safe for concurrent use.
type violations struct {
	mu    sync.Mutex
	kept  []Violation
	total int
}

func (v *violations) add(invariant, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.total++
	if len(v.kept) < maxViolations {
		v.kept = append(v.kept, Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
	}
}

// all returns what was kept, the last of it saying how many more there were.
func (v *violations) all() []Violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := slices.Clone(v.kept)
	if more := v.total - len(v.kept); more > 0 {
		all = append(all, Violation{Invariant: v.kept[0].Invariant, Detail: fmt.Sprintf("and %d more violations by these clients", more)})
	}
	return all
}
