package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// WholeShowing stands in a Request's Seats for the showing as a whole, and then stands there
// alone. It is what Renew, Keep and Release take for a lock that LockShowing gave.
const WholeShowing = "*"

// Request names the seats of one showing that one owner wants.
type Request struct {
	Showing uuid.UUID
	// Seats are seat codes, without repeats: 1 to MaxSeats of them, each 1 to 64 bytes long and
	// none of them "#".
	Seats []string
	// Owner is the booking.
	Owner uuid.UUID
	// ID tells nested acquisitions of one owner apart; a script that runs twice for one ID counts
	// once. It must not be empty where seats are taken; Renew and Keep do not look at it.
	ID string
	// TTL is how long the lock lives, by Redis' clock: 1 ms to MaxTTL.
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
	// ErrTooManyNested: the owner has MaxNested acquisitions on one of the seats already; nothing was locked.
	ErrTooManyNested = errors.New("lock: too many nested acquisitions of one seat")
	// ErrInvalidRequest: the request is not of the form that Request asks for; nothing was sent.
	ErrInvalidRequest = errors.New("lock: invalid request")
)

// TakenError refuses an acquisition: nothing was locked.
type TakenError struct {
	// Holders says who has which of the wanted seats.
	Holders map[string]uuid.UUID
	// Token is that of the last operation on the showing.
	Token int64
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("lock: %d of the wanted seats are taken", len(e.Holders))
}
