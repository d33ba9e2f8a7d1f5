package lock

import (
	"sync"
	"time"
)

// failuresToOpen is how many failures in a row make a server count as gone. One is not enough: a
// single connection that broke says little.
const failuresToOpen = 3

// breaker keeps callers from waiting for a server that does not answer. It is closed until
// failuresToOpen failures in a row, and then lets one call through each period until one succeeds.
type breaker struct {
	every time.Duration

	mu       sync.Mutex
	failures int
	// probe is when the next call is let through while the breaker is open.
	probe time.Time
}

// allow says whether a call may go to the server now.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresToOpen {
		return true
	}
	if now.Before(b.probe) {
		return false
	}
	b.probe = now.Add(b.every)
	return true
}

// report tells the breaker how a call that it allowed ended.
func (b *breaker) report(answered bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered {
		b.failures = 0
		return
	}
	if b.failures < failuresToOpen {
		b.failures++
		b.probe = now.Add(b.every)
	}
}
