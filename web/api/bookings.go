package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
)

// moneyJSON is an amount of money.
type moneyJSON struct {
	Amount   int64  `json:"amount" doc:"In the currency's minor unit."`
	Currency string `json:"currency" minLength:"3" maxLength:"3" example:"EUR"`
}

// bookingJSON is a booking as clients see it, in answers, problems and on the live socket.
type bookingJSON struct {
	ID        uuid.UUID      `json:"id" format:"uuid"`
	Showing   uuid.UUID      `json:"showing" format:"uuid"`
	State     string         `json:"state" enum:"held,confirmed,released,expired,refunded"`
	Seats     []booking.Seat `json:"seats" nullable:"false" doc:"In the layout's order; none once released or expired."`
	ExpiresAt *time.Time     `json:"expires_at" doc:"The hold's end, exclusive; null unless held."`
	Now       time.Time      `json:"now" doc:"The server's clock, for the countdown."`
	Seq       int64          `json:"seq" doc:"The showing's after the last change to the booking."`
	Total     moneyJSON      `json:"total"`
}

type bookingOutput struct{ Body bookingJSON }

type bookingsJSON struct {
	Bookings []bookingJSON `json:"bookings" nullable:"false" doc:"Newest first."`
}

type bookingsOutput struct{ Body bookingsJSON }

// seatsJSON is the body of a request that wants seats.
type seatsJSON struct {
	_     struct{}       `additionalProperties:"false"`
	Seats []booking.Seat `json:"seats" nullable:"false" minItems:"1" maxItems:"1000" doc:"Codes, each once." example:"[\"F7\",\"F8\"]"`
}

type bookingInput struct {
	ID string `path:"id" format:"uuid"`
}

type bookingCommand struct {
	ID string `path:"id" format:"uuid"`
	Key
}

type holdInput struct {
	ID string `path:"id" format:"uuid" doc:"The showing."`
	Key
	Body seatsJSON
}

type addInput struct {
	ID string `path:"id" format:"uuid"`
	Key
	Body seatsJSON
}

type giveBackInput struct {
	ID string `path:"id" format:"uuid"`
	Key
	Seat string `path:"seat" example:"F7"`
}

// bookingBody is how a booking is shown.
func bookingBody(b booking.Booking) bookingJSON {
	out := bookingJSON{
		ID: b.ID, Showing: b.Showing, State: string(b.State), Seats: b.Seats, Now: utc(b.Now), Seq: b.Seq,
		Total: moneyJSON{Amount: b.Total.Amount, Currency: b.Total.Currency},
	}
	if out.Seats == nil {
		out.Seats = []booking.Seat{}
	}
	if !b.ExpiresAt.IsZero() {
		end := utc(b.ExpiresAt)
		out.ExpiresAt = &end
	}
	return out
}

// EncodeBooking is a booking as the live socket carries it: the same JSON as the API's.
func EncodeBooking(b booking.Booking) (json.RawMessage, error) { return json.Marshal(bookingBody(b)) }

func utc(t time.Time) time.Time { return t.UTC() }

func (s *server) registerBookings() {
	command := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Bookings"}, Security: sessionSecurity(),
			Middlewares: huma.Middlewares{s.sameOrigin, s.authenticate, s.limitCommands, s.commandKey},
		}
	}
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"Bookings"},
			Security: sessionSecurity(), Middlewares: huma.Middlewares{s.authenticate},
		}
	}
	every := []kind{
		kindMalformed, kindUnauthenticated, kindCrossOrigin, kindNotFound, kindInvalid, kindInFlight, kindMismatch,
		kindRateLimited, kindUnavailable, kindOutcomeUnknown,
	}
	with := func(more ...kind) []kind { return append(append([]kind{}, every...), more...) }

	hold := command("hold-seats", http.MethodPost, "/showings/{id}/bookings", "Hold seats: all of them, or none")
	hold.DefaultStatus = http.StatusCreated
	serve(s, hold, with(kindSeatsUnavailable, kindExists, kindSalesClosed, kindUnknownSeat, kindTooManySeats, kindHoldExpired), s.hold)
	serve(s, command("add-seats", http.MethodPost, "/bookings/{id}/seats", "Add seats to a hold: all of them, or none"),
		with(kindSeatsUnavailable, kindNotHeld, kindSalesClosed, kindUnknownSeat, kindTooManySeats, kindHoldExpired), s.addSeats)
	serve(s, command("give-back-seat", http.MethodDelete, "/bookings/{id}/seats/{seat}", "Give one seat back; the last one releases the booking"),
		with(kindNotHeld, kindUnknownSeat, kindHoldExpired), s.giveBack)
	serve(s, command("confirm-booking", http.MethodPost, "/bookings/{id}/confirm", "Confirm: the seats are sold"),
		with(kindNotHeld, kindHoldExpired), s.confirm)
	release := command("release-booking", http.MethodDelete, "/bookings/{id}", "Release a hold; again on a released one")
	release.DefaultStatus = http.StatusNoContent
	serve(s, release, with(kindNotHeld, kindHoldExpired), s.release)
	serve(s, read("get-booking", "/bookings/{id}", "One of the session's bookings"),
		[]kind{kindUnauthenticated, kindNotFound, kindInvalid, kindRateLimited, kindUnavailable}, s.booking)
	serve(s, read("list-bookings", "/bookings", "The session's bookings"),
		[]kind{kindUnauthenticated, kindInvalid, kindRateLimited, kindUnavailable}, s.bookings)
}

func (s *server) hold(ctx context.Context, in *holdInput) (*bookingOutput, error) {
	showing, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	return answer(s.deps.Bookings.Hold(ctx, s.command(ctx), showing, in.Body.Seats))
}

func (s *server) addSeats(ctx context.Context, in *addInput) (*bookingOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	return answer(s.deps.Bookings.AddSeats(ctx, s.command(ctx), id, in.Body.Seats))
}

func (s *server) giveBack(ctx context.Context, in *giveBackInput) (*bookingOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	out, err := answer(s.deps.Bookings.GiveBack(ctx, s.command(ctx), id, booking.Seat(in.Seat)))
	if err != nil {
		return nil, problemAt(err, "path.seat")
	}
	return out, nil
}

func (s *server) confirm(ctx context.Context, in *bookingCommand) (*bookingOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	return answer(s.deps.Bookings.Confirm(ctx, s.command(ctx), id))
}

func (s *server) release(ctx context.Context, in *bookingCommand) (*struct{}, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	_, err := s.deps.Bookings.Release(ctx, s.command(ctx), id)
	return nil, err
}

func (s *server) booking(ctx context.Context, in *bookingInput) (*bookingOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	return answer(s.deps.Bookings.Booking(ctx, requestOf(ctx).session, id))
}

func (s *server) bookings(ctx context.Context, _ *struct{}) (*bookingsOutput, error) {
	all, err := s.deps.Bookings.Bookings(ctx, requestOf(ctx).session)
	if err != nil {
		return nil, err
	}
	out := &bookingsOutput{Body: bookingsJSON{Bookings: make([]bookingJSON, len(all))}}
	for i, b := range all {
		out.Body.Bookings[i] = bookingBody(b)
	}
	return out, nil
}

func answer(b booking.Booking, err error) (*bookingOutput, error) {
	if err != nil {
		return nil, err
	}
	return &bookingOutput{Body: bookingBody(b)}, nil
}
