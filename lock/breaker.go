package lock

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

var errResting = errors.New("the server does not answer, and is asked again only now and then")

// failuresToOpen is how many failures in a row make a server count as gone. One is not enough: a
// single connection that broke says little.
const failuresToOpen = 3

// breaker keeps callers from waiting for a server that does not answer. It is closed until
// failuresToOpen failures in a row, and then lets one call through a period after the last one failed, until
// one succeeds.
type breaker struct {
	every time.Duration
	// timeout is how long a call that was let through may take to report.
	timeout time.Duration

	mu       sync.Mutex
	failures int
	// last is what the latest failure was.
	last error
	// probe is when the next call is let through while the breaker is open.
	probe time.Time
}

// allow says whether a call may go to the server now: nil, or why not.
func (b *breaker) allow(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresToOpen {
		return nil
	}
	if now.Before(b.probe) {
		return fmt.Errorf("%w: %w", errResting, b.last)
	}
	b.probe = now.Add(b.timeout + b.every)
	return nil
}

// report tells the breaker how calls that it allowed ended: nil when at least one was answered.
func (b *breaker) report(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = err
	if err == nil {
		b.failures = 0
		return
	}
	b.failures = min(b.failures+1, failuresToOpen)
	b.probe = now.Add(b.every)
}
