package booking

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// SeatState is a seat as of its latest event.
type SeatState struct {
	Status Status `json:"status"`
	// Booking holds or owns the seat; zero when nobody does.
	Booking uuid.UUID `json:"booking,omitzero"`
	// Seq is that of the seat's latest event: the next one's guard.
	Seq int64 `json:"seq"`
	// Deadline is the hold's end, exclusive; zero unless held.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Live is a booking that has seats: held or confirmed.
type Live struct {
	Session  uuid.UUID    `json:"session"`
	State    BookingState `json:"state"`
	Seats    []Seat       `json:"seats"`
	Total    Money        `json:"total"`
	Deadline time.Time    `json:"deadline,omitzero"`
	// GivenBack are the seats that the booking once had and gave back.
	GivenBack []Seat `json:"given_back,omitempty"`
	// Seq is that of the booking's latest event: the next one's guard.
	Seq int64 `json:"seq"`
}

// State is a showing as of Seq: a function of the log's events 1 … Seq and of nothing else.
// It isn't safe for concurrent use.
type State struct {
	Seq int64 `json:"seq"`
	// Event is the id of the event at Seq.
	Event  uuid.UUID     `json:"event"`
	Opened ShowingOpened `json:"opened"`
	// Seats has the seats that ever changed; all others are available.
	Seats map[Seat]SeatState `json:"seats"`
	// Bookings has those that have seats.
	Bookings map[uuid.UUID]Live `json:"bookings"`
	// Ended has those that had seats once, approximately.
	Ended Sieve `json:"ended,omitempty"`
}

// ErrGap says that an event doesn't follow the state's Seq: something was missed.
var ErrGap = errors.New("booking: event does not follow the state")

// NewState is a showing before its first event.
func NewState() *State {
	return &State{Seats: map[Seat]SeatState{}, Bookings: map[uuid.UUID]Live{}}
}

// Position is the place in the log that the state reflects.
func (s *State) Position() eventstore.Position {
	return eventstore.Position{Seq: s.Seq, Event: s.Event}
}

// Apply takes the state one event further. An event that the state already reflects changes nothing;
// one that doesn't follow it is ErrGap; one that can't be read is an error and leaves the state as it was.
// An event of a type that this version doesn't know changes nothing but Seq.
func (s *State) Apply(e eventstore.Event) error {
	if e.Seq <= s.Seq {
		return nil
	}
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("%w: have %d, got %d", ErrGap, s.Seq, e.Seq)
	}
	if err := s.applyBody(e); err != nil {
		return fmt.Errorf("booking: event %d of %s (%s): %w", e.Seq, e.Stream, e.Type, err)
	}
	s.Seq, s.Event = e.Seq, e.ID
	return nil
}

func (s *State) applyBody(e eventstore.Event) error {
	switch e.Type {
	case TypeShowingOpened:
		return s.applyOpened(e)
	case TypeSeatStatusChanged:
		return s.applySeat(e)
	case TypeBookingHeld, TypeBookingSeatsAdded, TypeBookingSeatGivenBack,
		TypeBookingConfirmed, TypeBookingReleased, TypeBookingExpired:
		return s.applyBooking(e)
	default:
		return nil
	}
}

func (s *State) applyOpened(e eventstore.Event) error {
	var body ShowingOpened
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return err
	}
	s.Opened = body
	return nil
}

func (s *State) applySeat(e eventstore.Event) error {
	body, next, err := readSeat(e)
	if err != nil {
		return err
	}
	s.Seats[body.Seat] = next
	return nil
}

// readSeat is a seat's event, and the seat as it is afterwards.
func readSeat(e eventstore.Event) (SeatStatusChanged, SeatState, error) {
	var body SeatStatusChanged
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return body, SeatState{}, err
	}
	seat, ok := seatOf(e.Entity)
	if !ok || seat != body.Seat {
		return body, SeatState{}, fmt.Errorf("entity %q is not seat %q", e.Entity, body.Seat)
	}
	if !body.Current.Known() {
		return body, SeatState{}, fmt.Errorf("seat %q has the unknown status %q", body.Seat, body.Current)
	}
	next := SeatState{Status: body.Current, Seq: e.Seq}
	if body.Current == Held || body.Current == Sold {
		next.Booking = body.Booking
	}
	if body.Current == Held {
		next.Deadline = e.Deadline
	}
	return body, next, nil
}

func (s *State) applyBooking(e eventstore.Event) error {
	id, body, err := readBooking(e)
	if err != nil {
		return err
	}
	if body.State != StateHeld && body.State != StateConfirmed {
		delete(s.Bookings, id)
		s.Ended = s.Ended.with(id)
		return nil
	}
	next := liveOf(e, body)
	next.GivenBack = givenBack(s.Bookings[id], next)
	s.Bookings[id] = next
	return nil
}

// liveOf is a booking that has seats, as it is after its event.
func liveOf(e eventstore.Event, body BookingChanged) Live {
	return Live{
		Session: body.Session, State: body.State, Seats: body.Seats,
		Total: body.Total, Deadline: e.Deadline, Seq: e.Seq,
	}
}

// givenBack are the seats that a booking has given back by the time it is next. The slice of before
// may be shared with a view, so it is never appended to.
func givenBack(before, next Live) []Seat {
	all := before.GivenBack
	for _, seat := range before.Seats {
		if !slices.Contains(next.Seats, seat) && !slices.Contains(all, seat) {
			all = append(slices.Clone(all), seat)
		}
	}
	return all
}

func readBooking(e eventstore.Event) (uuid.UUID, BookingChanged, error) {
	var body BookingChanged
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return uuid.Nil, body, err
	}
	id, ok := bookingOf(e.Entity)
	if !ok || id != body.Booking {
		return uuid.Nil, body, fmt.Errorf("entity %q is not booking %s", e.Entity, body.Booking)
	}
	return id, body, nil
}

// Read makes a Booking of a booking's event. Seq is left at the event's own; whoever knows the
// showing's seq after the command sets that.
func Read(e eventstore.Event, now time.Time) (Booking, error) {
	id, body, err := readBooking(e)
	if err != nil {
		return Booking{}, fmt.Errorf("booking: event %d of %s: %w", e.Seq, e.Stream, err)
	}
	b := Booking{
		ID: id, Showing: e.Stream, Session: body.Session, State: body.State,
		Seats: body.Seats, Now: now, Seq: e.Seq, Total: body.Total,
	}
	if body.State == StateHeld {
		b.ExpiresAt = e.Deadline
	}
	return b, nil
}
