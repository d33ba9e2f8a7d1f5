package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/web/auth"
)

// A kind of problem: its slug names it for machines, the rest explains it to people.
type kind struct {
	status int
	slug   string
	title  string
	// about is what the page at /problems/<slug> says.
	about string
}

// problem is an error as RFC 9457 has it. It is the only shape in which an error leaves the server.
type problem struct {
	kind
	detail string
	// extra are the extension members.
	extra map[string]any
	// headers go out with it.
	headers http.Header
	// cause is for the log, never for the client.
	cause error
}

// where says what is wrong with one part of a request.
type where struct {
	// Location is a path to the part, such as body.seats[1] or header.Idempotency-Key.
	Location string `json:"location"`
	Message  string `json:"message"`
}

func newProblem(k kind, detail string) *problem {
	return &problem{kind: k, detail: detail}
}

// with adds an extension member.
func (p *problem) with(name string, value any) *problem {
	if p.extra == nil {
		p.extra = map[string]any{}
	}
	p.extra[name] = value
	return p
}

// header adds a header.
func (p *problem) header(name, value string) *problem {
	if p.headers == nil {
		p.headers = http.Header{}
	}
	p.headers.Set(name, value)
	return p
}

// retryAfter says when to come back, in whole seconds, one at least.
func (p *problem) retryAfter(d time.Duration) *problem {
	seconds := max(1, int64((d+time.Second-1)/time.Second))
	return p.header("Retry-After", strconv.FormatInt(seconds, 10))
}

// because keeps the cause for the log.
func (p *problem) because(err error) *problem {
	p.cause = err
	return p
}

func (p *problem) Error() string { return p.slug + ": " + p.detail }
func (p *problem) Unwrap() error { return p.cause }

// GetStatus, GetHeaders and ContentType are how huma writes it.
func (p *problem) GetStatus() int            { return p.status }
func (p *problem) GetHeaders() http.Header   { return p.headers }
func (p *problem) ContentType(string) string { return "application/problem+json" }

// MarshalJSON puts the extension members beside the standard ones.
func (p *problem) MarshalJSON() ([]byte, error) {
	members := map[string]any{
		"type":   "/problems/" + p.slug,
		"title":  p.title,
		"status": p.status,
		"detail": p.detail,
	}
	maps.Copy(members, p.extra)
	return json.Marshal(members)
}

// write answers a plain handler's request with the problem.
func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		http.Error(w, http.StatusText(p.status), p.status)
		return
	}
	maps.Copy(w.Header(), p.headers)
	w.Header().Set("Content-Type", p.ContentType(""))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("ETag")
	w.WriteHeader(p.status)
	_, _ = w.Write(append(body, '\n'))
}

// unavailableFor is what Retry-After says when a store is gone.
const unavailableFor = 2 * time.Second

// addressLimitFor is what Retry-After says when an address holds too many seats: holds end in minutes.
const addressLimitFor = time.Minute

// problemOf maps every error of the rooms below to what a client is told: the one place that does.
func problemOf(err error) *problem { return problemAt(err, "body.seats") }

// problemAt is problemOf for a request that names its seats elsewhere than in its body.
func problemAt(err error, seats string) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	if p := bookingProblem(err, seats); p != nil {
		return p.because(err)
	}
	switch {
	case errors.Is(err, booking.ErrNotFound):
		p = notFound()
	case errors.Is(err, booking.ErrHoldExpired):
		p = newProblem(kindHoldExpired, "The hold has run out; its seats are on sale again.")
	case errors.Is(err, booking.ErrRequestInFlight):
		p = newProblem(kindInFlight, "A request with this Idempotency-Key is still being worked on.").retryAfter(time.Second)
	case errors.Is(err, booking.ErrKeyMismatch):
		p = keyMismatch()
	case errors.Is(err, booking.ErrAddressLimit):
		p = newProblem(kindRateLimited, "Too many seats are held from this network address.").retryAfter(addressLimitFor)
	case errors.Is(err, auth.ErrUnknown):
		p = unauthenticated()
	case errors.Is(err, booking.ErrOutcomeUnknown):
		p = outcomeUnknown()
	case errors.Is(err, booking.ErrUnavailable), errors.Is(err, auth.ErrUnavailable):
		p = unavailable()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// Whether anything was done can't be said; a read is mapped by problemOfRead.
		p = outcomeUnknown()
	default:
		p = newProblem(kindInternal, "Something went wrong on our side.")
	}
	return p.because(err)
}

// problemOfRead is problemOf for a request that changes nothing, of which the outcome is never unknown.
func problemOfRead(err error) *problem {
	p := problemOf(err)
	if p.slug == kindOutcomeUnknown.slug {
		return unavailable().because(err)
	}
	return p
}

// bookingProblem maps the errors of booking that carry something; nil for all others.
func bookingProblem(err error, seats string) *problem {
	var (
		taken   *booking.SeatsUnavailableError
		notHeld *booking.NotHeldError
		exists  *booking.ExistsError
		closed  *booking.SalesClosedError
		unknown *booking.UnknownSeatsError
		tooMany *booking.TooManySeatsError
		invalid *booking.InvalidError
	)
	switch {
	case errors.As(err, &taken):
		return newProblem(kindSeatsUnavailable, "Someone else has at least one of these seats; none was taken.").
			with("seats", seatProblems(taken.Seats))
	case errors.As(err, &notHeld):
		return newProblem(kindNotHeld, "The booking is "+string(notHeld.State)+".").with("state", notHeld.State)
	case errors.As(err, &exists):
		return newProblem(kindExists, "This session already holds a booking for this showing.").
			with("booking", bookingBody(exists.Booking))
	case errors.As(err, &closed):
		return newProblem(kindSalesClosed, "The showing is not on sale now.").
			with("opens_at", utc(closed.OpensAt)).with("closes_at", utc(closed.ClosesAt))
	case errors.As(err, &unknown):
		return newProblem(kindUnknownSeat, "The showing has no such seat.").with("errors", unknownSeats(unknown.Seats, seats))
	case errors.As(err, &tooMany):
		message := "a booking has at most " + strconv.Itoa(tooMany.Limit) + " seats"
		return newProblem(kindTooManySeats, "That would be too many seats for one booking.").
			with("errors", []where{{Location: seats, Message: message}})
	case errors.As(err, &invalid):
		return invalidRequest(where{Location: seats, Message: invalid.Reason})
	}
	return nil
}

type seatProblem struct {
	Seat   booking.Seat   `json:"seat"`
	Status booking.Status `json:"status" enum:"available,held,sold,blocked"`
}

func seatProblems(seats []booking.SeatProblem) []seatProblem {
	out := make([]seatProblem, len(seats))
	for i, s := range seats {
		out[i] = seatProblem{Seat: s.Seat, Status: s.Status}
	}
	return out
}

func unknownSeats(seats []booking.Seat, location string) []where {
	seats = seats[:min(len(seats), maxWheres)]
	out := make([]where, len(seats))
	for i, s := range seats {
		out[i] = where{Location: location, Message: fmt.Sprintf("no seat %+.16q", string(s))}
	}
	return out
}

func invalidRequest(errs ...where) *problem {
	return newProblem(kindInvalid, "The request makes no sense as it stands; see errors.").with("errors", errs)
}

func malformed(detail string) *problem { return newProblem(kindMalformed, detail) }

func notFound() *problem {
	return newProblem(kindNotFound, "There is no such thing, or it isn't yours.")
}

func unauthenticated() *problem {
	return newProblem(kindUnauthenticated, "Start a session first: POST /api/v1/sessions.").
		header("WWW-Authenticate", `Bearer realm="aisle"`)
}

func unavailable() *problem {
	return newProblem(kindUnavailable, "A store that this needs can't be reached; nothing was done.").retryAfter(unavailableFor)
}

func outcomeUnknown() *problem {
	return newProblem(kindOutcomeUnknown,
		"The answer was lost on its way. Repeat the request with the same Idempotency-Key.").retryAfter(time.Second)
}

func keyMismatch() *problem {
	return newProblem(kindMismatch, "This Idempotency-Key was used for another request.")
}

func tooLarge() *problem {
	return newProblem(kindTooLarge, "A request's body has at most 64 KiB.").header("Connection", "close")
}

func crossOrigin() *problem {
	return newProblem(kindCrossOrigin, "A page of another site may not do this in a customer's name.")
}
