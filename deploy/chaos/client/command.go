package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// Booking is one customer's seats at one showing, as answered.
type Booking struct {
	ID        uuid.UUID `json:"id"`
	Showing   uuid.UUID `json:"showing"`
	State     string    `json:"state"`      // held, confirmed, released, expired, refunded
	Seats     []string  `json:"seats"`      // in the layout's order
	ExpiresAt time.Time `json:"expires_at"` // the hold's end, exclusive; zero unless held
	Now       time.Time `json:"now"`        // the server's clock
	Seq       int64     `json:"seq"`        // the showing's, after the last change to the booking
	Total     Money     `json:"total"`
}

// Money is an amount in its currency's minor unit.
type Money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// same says whether two answers show the booking at the same moment of its life.
func (b *Booking) same(other *Booking) bool {
	if b == nil || other == nil {
		return b == other
	}
	return b.ID == other.ID && b.Showing == other.Showing && b.State == other.State && slices.Equal(b.Seats, other.Seats) &&
		b.ExpiresAt.Equal(other.ExpiresAt) && b.Seq == other.Seq && b.Total == other.Total
}

func (b *Booking) String() string {
	if b == nil {
		return "no booking"
	}
	return fmt.Sprintf("booking %s %s %v seq %d until %s", b.ID, b.State, b.Seats, b.Seq, b.ExpiresAt.Format(time.RFC3339Nano))
}

// The problems that clients treat in ways of their own.
const (
	problemSeatsUnavailable = "seats-unavailable"
	problemNotHeld          = "booking-not-held"
	problemExpired          = "hold-expired"
	problemExists           = "booking-exists"
	problemSalesClosed      = "sales-closed"
	problemInFlight         = "request-in-flight"
	problemUnavailable      = "unavailable"
	problemOutcomeUnknown   = "outcome-unknown"
)

// Answer is what a replica said to a command.
type Answer struct {
	Status     int
	Problem    string            // the slug; "" if it was none
	Detail     string            // of the problem
	Booking    *Booking          // of a 2xx with a body, or the one that booking-exists names; else nil
	Conflicts  map[string]string // of seats-unavailable: seat → its status
	State      string            // of booking-not-held: the booking's
	RetryAfter time.Duration     // 0: not said
}

// OK says whether the command was done.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

func (a Answer) String() string {
	if a.OK() {
		return fmt.Sprintf("%d %s", a.Status, a.Booking)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", a.Status, a.Problem, a.State))
}

// Command is what a session asks for; under one key, however often it is sent.
type Command struct {
	Kind    history.Kind
	Showing uuid.UUID // of Hold
	Booking uuid.UUID // of all others
	Seats   []string  // of Hold and Add; the one of GiveBack
	Key     string    // Idempotency-Key
}

// Do sends the command once to the replica at url. Its errors are ErrNotSent and ErrNoAnswer, wrapped; a refusal is an Answer.
func (s Session) Do(ctx context.Context, url string, c Command) (Answer, error) {
	r, err := s.api.do(ctx, url, s.call(c))
	if err != nil {
		return Answer{}, err
	}
	answer := decodeAnswer(r)
	if answer.OK() && r.status != http.StatusNoContent && answer.Booking == nil {
		return Answer{}, fmt.Errorf("%w: %s: status %d without a booking that can be read", ErrNoAnswer, c.Kind, r.status)
	}
	return answer, nil
}

func (s Session) call(c Command) call {
	type seats struct {
		Seats []string `json:"seats"`
	}
	booking := "/bookings/" + c.Booking.String()
	switch c.Kind {
	case history.Hold:
		return call{method: http.MethodPost, path: "/showings/" + c.Showing.String() + "/bookings", token: s.token, key: c.Key, body: seats{c.Seats}}
	case history.Add:
		return call{method: http.MethodPost, path: booking + "/seats", token: s.token, key: c.Key, body: seats{c.Seats}}
	case history.GiveBack:
		return call{method: http.MethodDelete, path: booking + "/seats/" + neturl.PathEscape(c.Seats[0]), token: s.token, key: c.Key}
	case history.Confirm:
		return call{method: http.MethodPost, path: booking + "/confirm", token: s.token, key: c.Key}
	default: // Release
		return call{method: http.MethodDelete, path: booking, token: s.token, key: c.Key}
	}
}

// Hold asks once, at the replica at url, for seats into a new booking. For this and the next, see Do.
func (s Session) Hold(ctx context.Context, url string, showing uuid.UUID, seats []string, key string) (Answer, error) {
	return s.Do(ctx, url, Command{Kind: history.Hold, Showing: showing, Seats: seats, Key: key})
}

// Add asks once for more seats into a booking.
func (s Session) Add(ctx context.Context, url string, booking uuid.UUID, seats []string, key string) (Answer, error) {
	return s.Do(ctx, url, Command{Kind: history.Add, Booking: booking, Seats: seats, Key: key})
}

// GiveBack asks once to take a seat out of a booking.
func (s Session) GiveBack(ctx context.Context, url string, booking uuid.UUID, seat, key string) (Answer, error) {
	return s.Do(ctx, url, Command{Kind: history.GiveBack, Booking: booking, Seats: []string{seat}, Key: key})
}

// Confirm asks once to sell a booking's seats.
func (s Session) Confirm(ctx context.Context, url string, booking uuid.UUID, key string) (Answer, error) {
	return s.Do(ctx, url, Command{Kind: history.Confirm, Booking: booking, Key: key})
}

// Release asks once to end a hold.
func (s Session) Release(ctx context.Context, url string, booking uuid.UUID, key string) (Answer, error) {
	return s.Do(ctx, url, Command{Kind: history.Release, Booking: booking, Key: key})
}

// Booking reads one of the session's bookings. A refusal is an Answer, as with commands.
func (s Session) Booking(ctx context.Context, url string, booking uuid.UUID) (Answer, error) {
	r, err := s.api.do(ctx, url, call{method: http.MethodGet, path: "/bookings/" + booking.String(), token: s.token})
	if err != nil {
		return Answer{}, err
	}
	return decodeAnswer(r), nil
}

// decodeAnswer takes from r what the contract says; what can't be read is left empty, so that no proxy's error page is taken for a problem.
func decodeAnswer(r reply) Answer {
	answer := Answer{Status: r.status, RetryAfter: retryAfter(r.header)}
	if answer.OK() {
		var booking Booking
		if json.Unmarshal(r.body, &booking) == nil && booking.ID != uuid.Nil {
			answer.Booking = &booking
		}
		return answer
	}
	var problem struct {
		Type   string `json:"type"`
		Detail string `json:"detail"`
		Seats  []struct {
			Seat   string `json:"seat"`
			Status string `json:"status"`
		} `json:"seats"`
		State   string   `json:"state"`
		Booking *Booking `json:"booking"`
	}
	if json.Unmarshal(r.body, &problem) != nil {
		return answer
	}
	answer.Problem = strings.TrimPrefix(problem.Type, "/problems/")
	answer.Detail, answer.State, answer.Booking = problem.Detail, problem.State, problem.Booking
	if len(problem.Seats) > 0 {
		answer.Conflicts = make(map[string]string, len(problem.Seats))
		for _, s := range problem.Seats {
			answer.Conflicts[s.Seat] = s.Status
		}
	}
	return answer
}
