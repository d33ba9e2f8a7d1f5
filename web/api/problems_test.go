package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/web/api"
)

// service is api.Bookings under a name that its own method doesn't have.
type service = api.Bookings

// failing confirms with an error that real stores give seldom, or panics.
type failing struct {
	service
	confirm func() (booking.Booking, error)
}

func (f *failing) Confirm(context.Context, booking.Command, uuid.UUID) (booking.Booking, error) {
	return f.confirm()
}

// Each error that the rooms below can give, and exactly what a client is told of it.
func TestEachErrorHasItsProblem(t *testing.T) {
	t.Parallel()
	double := &failing{}
	s := newSite(t, func(set *settings) {
		set.bookings = func(actual api.Bookings) api.Bookings {
			double.service = actual
			return double
		}
	})
	me := s.customer()
	when := time.Date(2026, 12, 1, 20, 0, 0, 0, time.FixedZone("", 3600))
	id, showing := uuid.MustParse("0190d3c1-0000-7000-8000-000000000001"), uuid.MustParse("0190d3c1-0000-7000-8000-000000000002")
	for _, c := range []struct {
		err    error
		status int
		slug   string
		retry  string
		extra  string
	}{
		{booking.ErrNotFound, 404, "not-found", "", `{}`},
		{
			&booking.SeatsUnavailableError{Seats: []booking.SeatProblem{{Seat: "F7", Status: booking.Held}, {Seat: "F8", Status: booking.Sold}}},
			409, "seats-unavailable", "", `{"seats": [{"seat": "F7", "status": "held"}, {"seat": "F8", "status": "sold"}]}`,
		},
		{&booking.NotHeldError{State: booking.StateRefunded}, 409, "booking-not-held", "", `{"state": "refunded"}`},
		{booking.ErrHoldExpired, 410, "hold-expired", "", `{}`},
		{
			&booking.ExistsError{Booking: booking.Booking{
				ID: id, Showing: showing, State: booking.StateHeld, Seats: []booking.Seat{"F7"}, ExpiresAt: when, Now: when.Add(-time.Minute),
				Seq: 41, Total: booking.Money{Amount: 1250, Currency: "EUR"},
			}},
			409, "booking-exists", "", `{"booking": {"id": "0190d3c1-0000-7000-8000-000000000001",
				"showing": "0190d3c1-0000-7000-8000-000000000002", "state": "held", "seats": ["F7"], "expires_at": "2026-12-01T19:00:00Z",
				"now": "2026-12-01T18:59:00Z", "seq": 41, "total": {"amount": 1250, "currency": "EUR"}}}`,
		},
		{
			&booking.SalesClosedError{OpensAt: when.Add(-time.Hour), ClosesAt: when},
			409, "sales-closed", "", `{"opens_at": "2026-12-01T18:00:00Z", "closes_at": "2026-12-01T19:00:00Z"}`,
		},
		{
			&booking.UnknownSeatsError{Seats: []booking.Seat{"Z9", "\x00é"}},
			422, "unknown-seat", "", `{"errors": [{"location": "body.seats", "message": "no seat \"Z9\""},
				{"location": "body.seats", "message": "no seat \"\\x00\\u00e9\""}]}`,
		},
		{
			&booking.TooManySeatsError{Limit: 10},
			422, "too-many-seats", "", `{"errors": [{"location": "body.seats", "message": "a booking has at most 10 seats"}]}`,
		},
		{
			&booking.InvalidError{Reason: "a seat twice"},
			422, "invalid-request", "", `{"errors": [{"location": "body.seats", "message": "a seat twice"}]}`,
		},
		{booking.ErrRequestInFlight, 409, "request-in-flight", "1", `{}`},
		{booking.ErrKeyMismatch, 422, "idempotency-mismatch", "", `{}`},
		{booking.ErrAddressLimit, 429, "rate-limited", "60", `{}`},
		{booking.ErrUnavailable, 503, "unavailable", "2", `{}`},
		{booking.ErrOutcomeUnknown, 503, "outcome-unknown", "1", `{}`},
		{errors.New("postgres://aisle:secret@10.0.0.7 broke"), 500, "internal", "", `{}`},
	} {
		double.confirm = func() (booking.Booking, error) {
			return booking.Booking{}, fmt.Errorf("secret details of table bookings: %w", c.err)
		}
		r := me.do(http.MethodPost, "/bookings/"+id.String()+"/confirm", "").problem(c.status, c.slug)
		require.Equal(t, c.retry, r.header.Get("Retry-After"), c.slug)
		require.Equal(t, "no-store", r.header.Get("Cache-Control"))
		require.NotContains(t, string(r.raw), "secret")
		for _, member := range []string{"type", "title", "status", "detail"} {
			delete(r.body, member)
		}
		extra, err := json.Marshal(r.body)
		require.NoError(t, err)
		require.JSONEq(t, c.extra, string(extra), c.slug)
	}
	require.Contains(t, s.log.String(), "10.0.0.7", "the operator gets the cause")
}

func TestAPanicIsOneRequestsOwn(t *testing.T) {
	t.Parallel()
	double := &failing{confirm: func() (booking.Booking, error) { panic("secret of the house") }}
	s := newSite(t, func(set *settings) {
		set.bookings = func(actual api.Bookings) api.Bookings {
			double.service = actual
			return double
		}
	})
	me := s.customer()
	id := me.hold("A1")
	r := me.do(http.MethodPost, "/bookings/"+id+"/confirm", "", "X-Request-Id", "boom").problem(500, "internal")
	require.NotContains(t, string(r.raw), "secret")
	require.Equal(t, "boom", r.header.Get("X-Request-Id"))
	require.Contains(t, s.log.String(), "secret of the house")
	require.Equal(t, 200, me.do(http.MethodGet, "/bookings/"+id, "").status)
}

// A command that takes too long is cut off, and the client is not told that nothing was done.
func TestARequestThatTakesTooLong(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) {
		set.api.RequestTimeout = 50 * time.Millisecond
		set.bookings = func(actual api.Bookings) api.Bookings { return slow{actual} }
	})
	me := s.customer()
	me.do(http.MethodPost, "/bookings/"+uuid.NewString()+"/confirm", "").problem(503, "outcome-unknown").retryAfter()
	me.do(http.MethodGet, "/bookings", "").problem(503, "unavailable").retryAfter()
}

// slow answers when it is told to give up.
type slow struct{ service }

func (slow) Confirm(ctx context.Context, _ booking.Command, _ uuid.UUID) (booking.Booking, error) {
	<-ctx.Done()
	return booking.Booking{}, fmt.Errorf("append: %w", ctx.Err())
}

func (slow) Bookings(ctx context.Context, _ uuid.UUID) ([]booking.Booking, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("read: %w", ctx.Err())
}

func TestTheSlugsAreTheContracts(t *testing.T) {
	t.Parallel()
	for slug := range strings.FieldsSeq(`malformed unauthenticated not-found seats-unavailable booking-not-held hold-expired booking-exists
		sales-closed unknown-seat too-many-seats invalid-request request-in-flight idempotency-mismatch rate-limited unavailable outcome-unknown`) {
		require.Contains(t, golden(t), slug)
	}
}
