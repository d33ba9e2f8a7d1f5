package eventstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Bounds of a request.
const (
	// MaxData is the most bytes of an event's body.
	MaxData = 64 << 10
	// MaxEvents is the most events of one request.
	MaxEvents = 4096
)

// Event is one fact in the log. Its place is (Stream, Seq).
type Event struct {
	// Stream is the stream's id: the showing's.
	Stream uuid.UUID `json:"stream"`
	// Seq is the event's number in its stream: 1, 2, 3 … without a gap, in commit order.
	Seq int64 `json:"seq"`
	// ID is unique across logs; a cursor remembers it to notice that the log was restored.
	ID uuid.UUID `json:"id"`
	// Entity names the one thing that the event changes, such as "seat:F7".
	Entity string `json:"entity"`
	// Prev is the Seq of the entity's previous event, 0 for none.
	Prev int64 `json:"prev"`
	// Type is the event's name, such as "SeatStatusChanged".
	Type string `json:"type"`
	// Data is the event's body, a JSON object of at most MaxData bytes.
	Data json.RawMessage `json:"data"`
	// Deadline is the instant until which the fact lasts, exclusive; zero for no end.
	Deadline time.Time `json:"deadline,omitzero"`
	// At is when the event was appended, by the database's clock, in UTC.
	At time.Time `json:"at"`
}

// NewEvent is an event on its way into the log.
type NewEvent struct {
	// ID may be zero: Append then makes one.
	ID     uuid.UUID
	Entity string
	// Prev is the guard: the append is refused unless it is the Seq of the entity's latest event.
	Prev     int64
	Type     string
	Data     json.RawMessage
	Deadline Deadline
}

// Deadline is an instant given either absolutely or as a span from the moment of the append, by the
// database's clock. The zero value is no deadline.
type Deadline struct {
	// At is the instant; zero when In is used.
	At time.Time
	// In is the span from the append's own instant; zero when At is used.
	In time.Duration
}

// Check is a condition on the database's clock, read after the append holds its stream's row.
type Check struct {
	// From passes when the clock is at or past it; zero passes always.
	From time.Time
	// Before passes when the clock has not reached it; zero passes always.
	Before time.Time
}

// Command identifies the request behind an append, so that a retry finds the first outcome.
// A zero Key means housekeeping: nothing is recorded.
type Command struct {
	Session uuid.UUID
	// Key is the client's Idempotency-Key, 1–255 printable characters, unique per session.
	Key string
	// Route names the command and its object, such as "POST /api/v1/showings/{id}/bookings".
	Route string
	// Body is the hash of the request's body.
	Body [32]byte
	// Booking is the booking that the command is about.
	Booking uuid.UUID
	// Status is the HTTP status of the outcome.
	Status int
}

// Recorded is a command as the log has it.
type Recorded struct {
	Command
	Stream uuid.UUID
	// Seq is the stream's head after the command.
	Seq int64
	At  time.Time
}

// Booking is one row of the booking index: who has what where, written with the events.
type Booking struct {
	ID      uuid.UUID
	Stream  uuid.UUID
	Session uuid.UUID
	// Held says that the booking is a hold. A session has at most one a stream.
	Held bool
	// State is the domain's word for it, such as "confirmed".
	State string
	// Seats is how many seats it has.
	Seats int
	// Address is a keyed hash of the client's network address, empty when not kept.
	Address string
	// Deadline is the hold's end, exclusive; zero when not held.
	Deadline time.Time
	// Seq is the Seq of the booking's latest event.
	Seq int64
}

// BookingChange is a row of the booking index on its way in. Deadline and Seq are those of the
// request's event with the given Entity, the booking's own. The first of that entity's events (Prev 0) makes the
// row; later ones change it, and then ID and Session must be those of the row.
type BookingChange struct {
	ID      uuid.UUID
	Session uuid.UUID
	Entity  string
	Held    bool
	State   string
	Seats   int
	Address string
}

// Request is what one command wants to add to one stream: all of it or nothing.
type Request struct {
	Stream   uuid.UUID
	Command  Command
	Checks   []Check
	Events   []NewEvent // at most one per entity, at least one
	Bookings []BookingChange
	// MaxHeldSeats refuses the append when, after it, the open holds of one of the held Bookings'
	// Address would have more seats than this over all streams; 0 for no limit. Holds past their
	// deadline don't count.
	MaxHeldSeats int
}

// Result is the verdict on a request that passed.
type Result struct {
	// Events are the appended events as the log has them, in order. Empty when Replayed is set.
	Events []Event
	// Seq is the stream's head after the append (or after the recorded command, when replayed).
	Seq int64
	// Now is the database's clock when the request was judged.
	Now time.Time
	// Replayed is the earlier outcome of the same command; nothing was appended.
	Replayed *Recorded
}

// Heads is where streams end, by one look at the database.
type Heads struct {
	// Log is the log's id, and Now the database's clock.
	Log string
	Now time.Time
	// Positions has the last event of each stream that was asked for and exists.
	Positions map[uuid.UUID]Position
}

// Position is how far a reader has come in a stream.
type Position struct {
	Seq int64
	// Event is the id of the event at Seq; zero when Seq is 0.
	Event uuid.UUID
}

// Sentinels of this package. Append, Read and the look-ups wrap them.
var (
	// ErrNoStream: there is no such stream.
	ErrNoStream = errors.New("eventstore: no such stream")
	// ErrNotFound: no such event, booking or command.
	ErrNotFound = errors.New("eventstore: not found")
	// ErrUnavailable: the database can't be reached or can't write, or the store has stopped; nothing was done.
	ErrUnavailable = errors.New("eventstore: unavailable, nothing was done")
	// ErrOutcomeUnknown: the connection was lost while the append was under way and its outcome could
	// not be looked up, or the caller's context ended meanwhile. Repeating the same command is safe.
	ErrOutcomeUnknown = errors.New("eventstore: outcome unknown")
	// ErrOverloaded: the append queue is full; nothing was done.
	ErrOverloaded = errors.New("eventstore: append queue is full, nothing was done")
	// ErrMismatch: the command's key was used for another route or body.
	ErrMismatch = errors.New("eventstore: key used for another command")
	// ErrAddressLimit: MaxHeldSeats would be exceeded.
	ErrAddressLimit = errors.New("eventstore: too many seats held by this address")
	// ErrSchema: the database is older than this program: it has to be migrated.
	ErrSchema = errors.New("eventstore: database schema is older than this program")
	// ErrInvalid: the request can never pass: no event, two events for one entity, a body too large.
	ErrInvalid = errors.New("eventstore: invalid request")
)

// GuardError refuses an append because an entity's latest event is not the one that was named.
type GuardError struct {
	// Present holds the latest event of each refused entity that has one, in the order of their Seq.
	Present []Event
	// Seq is the stream's head, as of which Present is, and Now the database's clock at the refusal.
	Seq int64
	Now time.Time
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("eventstore: guard refused: %d entities have changed", len(e.Present))
}

// CheckError refuses an append because of the clock.
type CheckError struct {
	// Check is the index of the first failed check in the request.
	Check int
	Now   time.Time
}

func (e *CheckError) Error() string {
	return fmt.Sprintf("eventstore: check %d failed at %s", e.Check, e.Now.Format(time.RFC3339Nano))
}

// HeldError refuses a new hold because the session has another one in the stream.
type HeldError struct {
	// Booking is the other hold; its deadline may have passed.
	Booking Booking
	// Event is the other booking's latest event.
	Event Event
	Now   time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("eventstore: session already holds booking %s", e.Booking.ID)
}
