package booking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
)

// Command says who asks for a change, and by which request.
type Command struct {
	// Session is whose booking it is.
	Session uuid.UUID
	// Key is the client's Idempotency-Key, 1–255 characters, unique per session.
	Key string
	// Route names the request, such as "POST /api/v1/bookings/…/confirm".
	Route string
	// Body is the hash of the request's body.
	Body [32]byte
	// Address is a keyed hash of the client's network address; empty when it isn't to be kept. It
	// reaches the log only while Config.MaxSeatsPerAddress limits.
	Address string
}

func (c Command) check() error {
	if c.Session == uuid.Nil {
		return &InvalidError{Reason: "a command needs a session"}
	}
	if c.Key == "" || len(c.Key) > maxKeyLen {
		return &InvalidError{Reason: "a command needs a key of 1 to 255 characters"}
	}
	return nil
}

const (
	maxKeyLen = 255
	// maxPlaces bounds the bookings whose showing is remembered.
	maxPlaces = 1 << 16
)

// Service carries out commands on bookings. It is safe for concurrent use, runs nothing in the
// background and needs no closing.
type Service struct {
	cfg       Config
	log       Log
	locks     Locks
	catalogue Catalogue
	maps      Maps

	clock    dbClock
	sampling sync.Mutex
	flights  flights
	// places remembers where a booking is, which never changes.
	places *otter.Cache[uuid.UUID, place]
}

// place is a booking's showing, and whose booking it is.
type place struct{ showing, session uuid.UUID }

// NewService makes a Service; the error says what is wrong with the config.
func NewService(cfg Config, log Log, locks Locks, catalogue Catalogue, maps Maps) (*Service, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	places, err := otter.New(&otter.Options[uuid.UUID, place]{MaximumSize: maxPlaces})
	if err != nil {
		return nil, fmt.Errorf("booking: cache of places: %w", err)
	}
	return &Service{
		cfg: cfg, log: log, locks: locks, catalogue: catalogue, maps: maps,
		flights: flights{open: map[flightKey]*flight{}},
		places:  places,
	}, nil
}

// Hold takes all the seats for the session, or none, for Config.HoldFor. Errors: *InvalidError,
// *UnknownSeatsError, *TooManySeatsError, ErrNotFound (no such showing), *SalesClosedError,
// *SeatsUnavailableError, *ExistsError, ErrAddressLimit, and those of every command: ErrKeyMismatch,
// ErrRequestInFlight, ErrUnavailable, ErrOutcomeUnknown, or the context's own.
func (s *Service) Hold(ctx context.Context, cmd Command, showing uuid.UUID, seats []Seat) (Booking, error) {
	return s.command(ctx, "hold", cmd, func() (Booking, error) {
		return s.hold(ctx, order{Command: cmd, status: http.StatusCreated}, showing, seats)
	})
}

// AddSeats adds all the seats to a hold, or none, without lengthening it. Seats that it has already
// count as added. Errors: those of Hold but ErrNotFound (no such booking, or another session's) and
// *ExistsError; *NotHeldError, ErrHoldExpired.
func (s *Service) AddSeats(ctx context.Context, cmd Command, booking uuid.UUID, seats []Seat) (Booking, error) {
	return s.command(ctx, "add", cmd, func() (Booking, error) {
		return s.addSeats(ctx, order{Command: cmd, status: http.StatusOK}, booking, seats)
	})
}

// GiveBack takes one seat out of a hold; the last one releases it. Errors: ErrNotFound (no such
// booking, another session's, or it doesn't have the seat), *NotHeldError, ErrHoldExpired, and those
// of every command.
func (s *Service) GiveBack(ctx context.Context, cmd Command, booking uuid.UUID, seat Seat) (Booking, error) {
	return s.command(ctx, "give-back", cmd, func() (Booking, error) {
		return s.giveBack(ctx, order{Command: cmd, status: http.StatusOK}, booking, seat)
	})
}

// Confirm sells exactly the hold's seats. Errors: ErrNotFound, *NotHeldError, ErrHoldExpired,
// *SalesClosedError (the showing was cancelled), and those of every command.
func (s *Service) Confirm(ctx context.Context, cmd Command, booking uuid.UUID) (Booking, error) {
	return s.command(ctx, "confirm", cmd, func() (Booking, error) {
		return s.confirm(ctx, order{Command: cmd, status: http.StatusOK}, booking)
	})
}

// Release ends a hold; a released one stays as it is, without an error. Errors: ErrNotFound,
// *NotHeldError, ErrHoldExpired, and those of every command.
func (s *Service) Release(ctx context.Context, cmd Command, booking uuid.UUID) (Booking, error) {
	return s.command(ctx, "release", cmd, func() (Booking, error) {
		return s.release(ctx, order{Command: cmd, status: http.StatusNoContent}, booking)
	})
}

// order is a command with the status that its outcome is recorded under.
type order struct {
	Command
	status int
}

// command is what all commands have in common: one at a time for each key, a first outcome wins over
// a refusal, and someone measures.
func (s *Service) command(ctx context.Context, name string, cmd Command, run func() (Booking, error)) (booking Booking, err error) {
	defer func(since time.Time) { s.cfg.Metrics.Command(name, time.Since(since), err) }(time.Now())
	if err := cmd.check(); err != nil {
		return Booking{}, err
	}
	return s.flights.once(ctx, cmd, s.cfg.InFlightWait, func() (Booking, error) {
		booking, err := run()
		if early, ok := errors.AsType[*earlyError](err); ok {
			booking, err = s.firstOutcome(ctx, cmd, early.err)
		}
		if done, ok := errors.AsType[*doneError](err); ok {
			return done.booking, nil
		}
		return booking, err
	})
}

// doneError is no failure: the booking is already as the command would make it.
type doneError struct{ booking Booking }

func (e *doneError) Error() string { return "booking: nothing to do" }

// earlyError is a refusal by a state that may have changed since the command was first carried out, and
// without the log having looked for the command.
type earlyError struct{ err error }

func (e *earlyError) Error() string { return e.err.Error() }
func (e *earlyError) Unwrap() error { return e.err }

// firstOutcome is the booking as of the command, if the log has the command; else the refusal stands.
func (s *Service) firstOutcome(ctx context.Context, cmd Command, refusal error) (Booking, error) {
	recorded, err := s.log.Recorded(ctx, cmd.Session, cmd.Key)
	switch {
	case isNotFound(err):
		return Booking{}, refusal
	case err != nil:
		return Booking{}, fromLog(err)
	case recorded.Route != cmd.Route || recorded.Body != cmd.Body:
		return Booking{}, ErrKeyMismatch
	}
	return s.replay(ctx, recorded)
}
