// Package history is what clients did and what they were told: the record of a run that the judge reads. It holds no
// rule of its own; whether the record can be true is the judge's business.
package history

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Kind is what a client asked for.
type Kind string

// The commands of a client.
const (
	Hold     Kind = "hold"      // seats into a new booking: POST /showings/{id}/bookings
	Add      Kind = "add"       // more seats into a held booking: POST /bookings/{id}/seats
	GiveBack Kind = "give-back" // one seat out of a held booking: DELETE /bookings/{id}/seats/{seat}
	Confirm  Kind = "confirm"   // the booking's seats are sold: POST /bookings/{id}/confirm
	Release  Kind = "release"   // the booking ends, its seats are free: DELETE /bookings/{id}
)

// Outcome is how a command ended for its client.
type Outcome string

// The outcomes of a command.
const (
	OK      Outcome = "ok"      // a 2xx: it was done
	Refused Outcome = "refused" // an answer that says that nothing was done: a 4xx, or 429 and 503 unavailable to the end
	Unknown Outcome = "unknown" // no final answer by the end: it may have been done, may yet be, or never was
)

// Op is one command of one client with all its retries: they carry the same Idempotency-Key, so that they are one.
type Op struct {
	Client  int       // number of the client in its run, from 0
	Session uuid.UUID // whose command it is
	Showing uuid.UUID
	Owner   string    // names the booking from outside: its session and the key of its hold, known even if the hold was never answered
	Booking uuid.UUID // uuid.Nil if never learned
	Key     string    // the Idempotency-Key
	Kind    Kind
	Seats   []string // asked for; with Confirm and Release, the booking's seats as last answered

	Call     time.Time // just before the first attempt could send a byte
	Return   time.Time // after the final answer was read; zero if Outcome is Unknown
	Outcome  Outcome
	Status   int // HTTP status of the last answer, 0 if there never was one
	Attempts int // requests sent, at least 1

	Problem   string            // slug of the last answer's problem, "" if it was none
	Conflicts map[string]string // status of each seat that someone else has, of a 409 seats-unavailable

	// As answered; zero if no booking was.
	State   string    // of the booking: held, confirmed, released, expired
	After   []string  // the booking's seats after the command
	Expires time.Time // the hold's end by the server's clock
	Seq     int64     // the showing's, after the booking's last change
}

// Recorder collects the Ops of a run. The zero value is ready; it is safe for concurrent use.
type Recorder struct {
	mu  sync.Mutex
	ops []Op
}

// Add records a finished op. The recorder keeps op's slices and maps: the caller no longer writes to them.
func (r *Recorder) Add(op Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// Ops returns what was recorded so far, in the order in which the ops ended. The slice is the caller's; what its ops point to is shared.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ops)
}

// Count is what Counts counts by.
type Count struct {
	Kind    Kind
	Outcome Outcome
}

// Counts returns the number of ops recorded so far of each kind and outcome; one that never came is absent.
func (r *Recorder) Counts() map[Count]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make(map[Count]int)
	for i := range r.ops {
		counts[Count{Kind: r.ops[i].Kind, Outcome: r.ops[i].Outcome}]++
	}
	return counts
}

// Sales returns the number of acknowledged confirms that returned at from or later and before to.
func (r *Recorder) Sales(from, to time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sales := 0
	for i := range r.ops {
		op := &r.ops[i]
		if op.Kind == Confirm && op.Outcome == OK && !op.Return.Before(from) && op.Return.Before(to) {
			sales++
		}
	}
	return sales
}
