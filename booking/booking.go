package booking

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Seat is a seat's code, such as "F7": unique within a showing's layout, 1–16 characters.
type Seat string

// Status is what a seat is to the house.
type Status string

// The statuses of a seat. A seat without events is available.
const (
	Available Status = "available"
	Held      Status = "held"
	Sold      Status = "sold"
	Blocked   Status = "blocked"
)

// Known says whether this version knows the status.
func (s Status) Known() bool {
	switch s {
	case Available, Held, Sold, Blocked:
		return true
	}
	return false
}

// BookingState is where a booking stands: held → confirmed → refunded, or released, or expired.
type BookingState string //nolint:revive // a showing has a State, too

// The states of a booking.
const (
	StateHeld      BookingState = "held"
	StateConfirmed BookingState = "confirmed"
	StateReleased  BookingState = "released"
	StateExpired   BookingState = "expired"
	StateRefunded  BookingState = "refunded"
)

// Money is an amount in the currency's minor unit: 1250 EUR is €12.50, 1250 JPY is ¥1250.
type Money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// Booking is one customer's seats at one showing, as of Seq.
type Booking struct {
	ID      uuid.UUID
	Showing uuid.UUID
	Session uuid.UUID
	State   BookingState
	// Seats are in the layout's order. A released or expired booking keeps none.
	Seats []Seat
	// ExpiresAt is the hold's end, exclusive, by the database's clock; zero unless held.
	ExpiresAt time.Time
	// Now is the database's clock as this replica knows it, for the countdown.
	Now time.Time
	// Seq is the showing's after the last change to the booking.
	Seq   int64
	Total Money
}

// Entities name what an event changes.
const (
	// ShowingEntity is the entity of a stream's first event.
	ShowingEntity  = "showing"
	seatPrefix     = "seat:"
	bookingPrefix  = "booking:"
	maxSeatCodeLen = 16
)

// SeatEntity names a seat in the log.
func SeatEntity(s Seat) string { return seatPrefix + string(s) }

// BookingEntity names a booking in the log.
func BookingEntity(id uuid.UUID) string { //nolint:revive // as SeatEntity
	return bookingPrefix + id.String()
}

// seatOf is the inverse of SeatEntity.
func seatOf(entity string) (Seat, bool) {
	code, ok := strings.CutPrefix(entity, seatPrefix)
	return Seat(code), ok && code != "" && len(code) <= maxSeatCodeLen
}

// bookingOf is the inverse of BookingEntity.
func bookingOf(entity string) (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(entity, bookingPrefix)
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == text // Parse takes other forms, too, but each is another entity
}
