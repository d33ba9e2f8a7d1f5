package booking

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
)

// Log is what Service needs of the event store; *eventstore.Store is one. Errors are eventstore's:
// ErrUnavailable and ErrOverloaded when nothing was done, ErrOutcomeUnknown when that can't be said,
// ErrNotFound and ErrNoStream when there is no such thing.
type Log interface {
	// Append adds all of the request or nothing; a command that is recorded already is replayed
	// instead. Refusals: *eventstore.GuardError, *CheckError, *HeldError, ErrMismatch, ErrAddressLimit.
	Append(ctx context.Context, r eventstore.Request) (eventstore.Result, error)
	// Latest has the latest event of each entity that has one.
	Latest(ctx context.Context, stream uuid.UUID, entities []string) ([]eventstore.Event, error)
	// LatestAt is the entity's latest event whose seq is at most upTo.
	LatestAt(ctx context.Context, stream uuid.UUID, entity string, upTo int64) (eventstore.Event, error)
	// Booking is a row of the booking index with its latest event.
	Booking(ctx context.Context, id uuid.UUID) (eventstore.Booking, eventstore.Event, error)
	// BookingsOf has a session's bookings with their latest events, newest first.
	BookingsOf(ctx context.Context, session uuid.UUID, limit int) ([]eventstore.Booking, []eventstore.Event, error)
	// Expired has holds past their deadline, by the database's clock; nil streams are all open ones.
	Expired(ctx context.Context, streams []uuid.UUID, limit int) ([]eventstore.Booking, error)
	// Recorded is the command that a session ran with a key.
	Recorded(ctx context.Context, session uuid.UUID, key string) (eventstore.Recorded, error)
	// Heads has the database's clock, and where streams are.
	Heads(ctx context.Context, streams []uuid.UUID) (eventstore.Heads, error)
}

// Locks makes losers lose quickly; *lock.Locker is one. Its errors are lock's; ErrUnavailable means
// that Service goes on without.
type Locks interface {
	// Acquire locks all the seats or none: *lock.TakenError, lock.ErrShowingLocked.
	Acquire(ctx context.Context, r lock.Request) (lock.Held, error)
	// Renew sets how long a lock lives that the owner still has: lock.ErrNotHeld.
	Renew(ctx context.Context, r lock.Request) (lock.Held, error)
	// Replace takes each seat that is free, or held by the owner that present names for it.
	Replace(ctx context.Context, r lock.Request, present map[string]uuid.UUID) (lock.Held, error)
	// Release frees the owner's seats of one acquisition; an empty id means of all of them.
	Release(ctx context.Context, showing, owner uuid.UUID, id string, seats []string) error
}

// Maps is this replica's live picture of showings, which may lag behind the log.
type Maps interface {
	// Look shows the seats asked for, each booking that has one of them, and the booking named, if it
	// has seats. Any error sends Service to the log.
	Look(ctx context.Context, showing uuid.UUID, seats []Seat, booking uuid.UUID) (View, error)
}

// Catalogue knows what can be sold. It answers from memory.
type Catalogue interface {
	// Offer is a showing as it is sold; false when there is no such showing.
	Offer(id uuid.UUID) (Showing, bool)
}

// Showing is what Service needs to know of a film in an auditorium at a time.
type Showing struct {
	ID uuid.UUID
	// Layout and LayoutVersion name the frozen layout.
	Layout        uuid.UUID
	LayoutVersion int
	// OpensAt and ClosesAt are the sales window: from OpensAt until just before ClosesAt.
	OpensAt   time.Time
	ClosesAt  time.Time
	Cancelled bool
	// Currency is the ISO 4217 code of all of the showing's prices.
	Currency string
	// Places has every seat of the layout. It is shared and must not be changed.
	Places map[Seat]Place
}

// Place is a seat in a showing's layout.
type Place struct {
	// Order is the seat's rank in the layout, from 0.
	Order int
	// Price is in the minor unit of the showing's currency.
	Price int64
}

// HasSeat says whether the layout has the seat.
func (s Showing) HasSeat(seat Seat) bool {
	_, ok := s.Places[seat]
	return ok
}

// Sort puts seats into the layout's order, in place.
func (s Showing) Sort(seats []Seat) {
	slices.SortFunc(seats, func(a, b Seat) int { return s.Places[a].Order - s.Places[b].Order })
}

// Price is what the seats cost together.
func (s Showing) Price(seats []Seat) Money {
	total := Money{Currency: s.Currency}
	for _, seat := range seats {
		total.Amount += s.Places[seat].Price
	}
	return total
}
