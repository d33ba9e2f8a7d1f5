package catalogue

import (
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
)

// Showing is a film in an auditorium at a time, for the programme.
type Showing struct {
	ID             uuid.UUID
	FilmTitle      string
	AuditoriumName string
	CinemaName     string
	StartsAt       time.Time
	// TimeZone is the cinema's, by its IANA name: what the clocks at the door show.
	TimeZone string
	// OpensAt and ClosesAt are the sales window: from OpensAt until just before ClosesAt.
	OpensAt   time.Time
	ClosesAt  time.Time
	Cancelled bool
	// Total is how many seats the layout has.
	Total int
}

// SalesState is whether a showing can be bought for.
type SalesState string

// The sales states.
const (
	SalesScheduled SalesState = "scheduled"
	SalesOpen      SalesState = "open"
	SalesClosed    SalesState = "closed"
	SalesCancelled SalesState = "cancelled"
)

// SalesState is the showing's at an instant. It is for show: a sale is judged by the database's clock.
func (s Showing) SalesState(now time.Time) SalesState {
	switch {
	case s.Cancelled:
		return SalesCancelled
	case now.Before(s.OpensAt):
		return SalesScheduled
	case now.Before(s.ClosesAt):
		return SalesOpen
	default:
		return SalesClosed
	}
}

// Layout is where a showing's seats are and what they cost. It never changes, and must not be changed.
type Layout struct {
	// Seats are row by row from the screen, each row from the left as seen from the seats.
	Seats []LayoutSeat
	// Categories are those of Seats.
	Categories []Category
}

// Kind is what a seat is like.
type Kind string

// The kinds of seats. All are sold alike.
const (
	Standard   Kind = "standard"
	Wheelchair Kind = "wheelchair"
	Companion  Kind = "companion"
	Sofa       Kind = "sofa"
)

// LayoutSeat is a seat in a layout.
type LayoutSeat struct {
	Seat booking.Seat
	// Row and Number are what is written on the seat: "F" and "7".
	Row    string
	Number string
	// X and Y are the seat's middle, in seat pitches: 1 is the way from one seat to its neighbour. X
	// grows to the right as seen from the seats, Y away from the screen.
	X        float64
	Y        float64
	Category uuid.UUID
	Kind     Kind
}

// Category is what seats are priced by.
type Category struct {
	ID   uuid.UUID
	Name string
	// Price is that of one seat.
	Price booking.Money
}
