package booking

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// The types of events in a showing's stream.
const (
	// TypeShowingOpened is a stream's first event: the layout is frozen from here on.
	TypeShowingOpened = "ShowingOpened"
	// TypeSeatStatusChanged is a seat's event.
	TypeSeatStatusChanged = "SeatStatusChanged"

	// The booking's own events; each carries the whole booking as it is afterwards (BookingChanged).
	TypeBookingHeld          = "BookingHeld"
	TypeBookingSeatsAdded    = "BookingSeatsAdded"
	TypeBookingSeatGivenBack = "BookingSeatGivenBack"
	TypeBookingConfirmed     = "BookingConfirmed"
	TypeBookingReleased      = "BookingReleased"
	TypeBookingExpired       = "BookingExpired"
)

// ShowingOpened is the body of a stream's first event.
type ShowingOpened struct {
	// Layout and LayoutVersion name the frozen layout.
	Layout        uuid.UUID `json:"layout"`
	LayoutVersion int       `json:"layout_version"`
}

// Why says for what reason a seat's status or a booking's state changed.
type Why string

// The reasons.
const (
	WhyHold     Why = "hold"
	WhyGiveBack Why = "give-back"
	WhyConfirm  Why = "confirm"
	WhyRelease  Why = "release"
	// WhyExpire: the hold ran out and was swept.
	WhyExpire Why = "expire"
	// WhyTakeover: the hold had run out and the next buyer's own append ended it.
	WhyTakeover Why = "takeover"
)

// SeatStatusChanged is the body of a seat's event. When it happened is the event's At; until when a
// hold lasts is the event's Deadline.
type SeatStatusChanged struct {
	Booking  uuid.UUID `json:"booking"`
	Seat     Seat      `json:"seat"`
	Previous Status    `json:"previous"`
	Current  Status    `json:"current"`
	Why      Why       `json:"why"`
	// Who is the session that did it; the zero UUID is Aisle itself (a sweep).
	Who uuid.UUID `json:"who"`
}

// BookingChanged is the body of each of a booking's events: the booking as it is afterwards. The
// hold's end is the event's Deadline.
type BookingChanged struct { //nolint:revive // as SeatStatusChanged
	Booking uuid.UUID    `json:"booking"`
	Session uuid.UUID    `json:"session"`
	State   BookingState `json:"state"`
	Seats   []Seat       `json:"seats"`
	Total   Money        `json:"total"`
	Why     Why          `json:"why"`
	Who     uuid.UUID    `json:"who"`
}

// NewShowingOpened is a stream's first event: it freezes the showing's layout.
func NewShowingOpened(layout uuid.UUID, version int) (eventstore.NewEvent, error) {
	data, err := json.Marshal(ShowingOpened{Layout: layout, LayoutVersion: version})
	if err != nil {
		return eventstore.NewEvent{}, fmt.Errorf("booking: first event: %w", err)
	}
	return eventstore.NewEvent{ID: newEventID(), Entity: ShowingEntity, Type: TypeShowingOpened, Data: data}, nil
}
