package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Request names the seats of one showing that one owner wants.
type Request struct {
	Showing uuid.UUID
	// Seats are seat codes, without repeats.
	Seats []string
	// Owner is the booking.
	Owner uuid.UUID
	// ID tells nested acquisitions of one owner apart; a script that runs twice for one ID counts once.
	ID string
	// TTL is how long the lock lives, by Redis' clock.
	TTL time.Duration
}

// Held is a lock that was acquired.
type Held struct {
	// Token orders lock operations on the showing: a later one has a higher token. The log never judges by it.
	Token int64
}

// Sentinels of this package.
var (
	// ErrUnavailable: Redis can't be reached, refuses writes or answered too late. The caller goes on without.
	ErrUnavailable = errors.New("lock: redis is unavailable")
	// ErrNotHeld: at least one of the seats is not (or no longer) the owner's; nothing was renewed.
	ErrNotHeld = errors.New("lock: not held")
	// ErrShowingLocked: the whole showing is locked by someone else; seat locks are refused meanwhile.
	ErrShowingLocked = errors.New("lock: the showing is locked")
)

// TakenError refuses an acquisition: nothing was locked.
type TakenError struct {
	// Holders says who has which of the wanted seats.
	Holders map[string]uuid.UUID
	Token   int64
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("lock: %d of the wanted seats are taken", len(e.Holders))
}
