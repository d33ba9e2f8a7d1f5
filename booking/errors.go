package booking

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels of this package. Service wraps them.
var (
	// ErrNotFound: no such showing or booking, or not this session's.
	ErrNotFound = errors.New("booking: not found")
	// ErrHoldExpired: the hold ran out, by the database's clock, swept or not.
	ErrHoldExpired = errors.New("booking: the hold has expired")
	// ErrRequestInFlight: the same command is being worked on, and was for as long as the call waited.
	ErrRequestInFlight = errors.New("booking: the same request is in flight")
	// ErrKeyMismatch: the command's key was used for another route or body.
	ErrKeyMismatch = errors.New("booking: idempotency key was used for another request")
	// ErrAddressLimit: this address holds as many seats as it may.
	ErrAddressLimit = errors.New("booking: too many seats held by this address")
	// ErrUnavailable: the log can't be reached; nothing was done.
	ErrUnavailable = errors.New("booking: unavailable, nothing was done")
	// ErrOutcomeUnknown: the answer was lost on the way to the log; the same command may be repeated.
	ErrOutcomeUnknown = errors.New("booking: outcome unknown")
)

// SeatProblem is one wanted seat that can't be had.
type SeatProblem struct {
	Seat   Seat
	Status Status
}

// SeatsUnavailableError says that someone else has at least one of the wanted seats; nothing was taken.
type SeatsUnavailableError struct{ Seats []SeatProblem }

func (e *SeatsUnavailableError) Error() string {
	return fmt.Sprintf("booking: %d of the seats are unavailable", len(e.Seats))
}

// NotHeldError says that the booking's state does not allow the command.
type NotHeldError struct{ State BookingState }

func (e *NotHeldError) Error() string { return "booking: not a hold but " + string(e.State) }

// ExistsError says that the session already holds a booking for the showing.
type ExistsError struct{ Booking Booking }

func (e *ExistsError) Error() string {
	return "booking: session already holds " + e.Booking.ID.String()
}

// SalesClosedError says that the showing is not yet, or no longer, on sale.
type SalesClosedError struct{ OpensAt, ClosesAt time.Time }

func (e *SalesClosedError) Error() string { return "booking: sales are closed" }

// UnknownSeatsError says that the layout has no such seats.
type UnknownSeatsError struct{ Seats []Seat }

func (e *UnknownSeatsError) Error() string { return fmt.Sprintf("booking: unknown seats %v", e.Seats) }

// TooManySeatsError says that the booking would have more seats than Limit.
type TooManySeatsError struct{ Limit int }

func (e *TooManySeatsError) Error() string {
	return fmt.Sprintf("booking: more than %d seats", e.Limit)
}

// InvalidError says that the request makes no sense, whatever the state: no seats, a seat twice.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "booking: " + e.Reason }
