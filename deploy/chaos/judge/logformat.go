package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The types of a stream's events.
const (
	typeOpened    = "ShowingOpened"
	typeSeat      = "SeatStatusChanged"
	typeHeld      = "BookingHeld"
	typeAdded     = "BookingSeatsAdded"
	typeGivenBack = "BookingSeatGivenBack"
	typeConfirmed = "BookingConfirmed"
	typeReleased  = "BookingReleased"
	typeExpired   = "BookingExpired"
)

// The states of a booking, and the reasons of a change.
const (
	stateHeld      = "held"
	stateConfirmed = "confirmed"
	stateReleased  = "released"
	stateExpired   = "expired"

	statusHeld = "held"
	statusSold = "sold"

	whyHold     = "hold"
	whyGiveBack = "give-back"
	whyConfirm  = "confirm"
	whyRelease  = "release"
	whyExpire   = "expire"
	whyTakeover = "takeover"
	whyRefund   = "refund"
)

// event is a row of the log.
type event struct {
	stream   uuid.UUID
	seq      int64
	id       uuid.UUID
	entity   string
	prev     int64
	kind     string
	data     string
	deadline time.Time // zero for none
	at       time.Time
}

// seatChange is the body of a seat's event.
type seatChange struct {
	Booking  uuid.UUID `json:"booking"`
	Seat     string    `json:"seat"`
	Previous string    `json:"previous"`
	Current  string    `json:"current"`
	Why      string    `json:"why"`
}

// bookingChange is the body of a booking's event: the booking as it is afterwards.
type bookingChange struct {
	Booking uuid.UUID `json:"booking"`
	Session uuid.UUID `json:"session"`
	State   string    `json:"state"`
	Seats   []string  `json:"seats"`
	Why     string    `json:"why"`
	Who     uuid.UUID `json:"who"`
}

func decodeSeat(e *event) (seatChange, error) {
	var body seatChange
	if err := json.Unmarshal([]byte(e.data), &body); err != nil {
		return body, err
	}
	if body.Seat == "" || e.entity != "seat:"+body.Seat || body.Booking == uuid.Nil {
		return body, fmt.Errorf("body of %q is about seat %q of booking %s", e.entity, body.Seat, body.Booking)
	}
	return body, nil
}

func decodeBooking(e *event) (bookingChange, error) {
	var body bookingChange
	if err := json.Unmarshal([]byte(e.data), &body); err != nil {
		return body, err
	}
	if body.Booking == uuid.Nil || e.entity != "booking:"+body.Booking.String() || body.Session == uuid.Nil {
		return body, fmt.Errorf("body of %q is about booking %s of session %s", e.entity, body.Booking, body.Session)
	}
	return body, nil
}

func isSeat(entity string) bool { return strings.HasPrefix(entity, "seat:") }

func isBooking(entity string) bool { return strings.HasPrefix(entity, "booking:") }
