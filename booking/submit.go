package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

const (
	// maxRejudged is how often a command is judged again after the log refused it because the picture
	// was old.
	maxRejudged = 2
	// maxFills is how often a picture is added to before it is judged: seats name bookings, and those
	// name more seats, and each may have to be asked of the map and then of the log.
	maxFills = 8
)

// errContended is the answer to a command that met another state each time it was judged.
var errContended = fmt.Errorf("%w: the booking or its seats kept changing", ErrUnavailable)

// judge makes of a picture what a command appends, or a refusal.
type judge func(*picture) (*draft, error)

// submit judges the command by the picture and appends the draft. It judges again when the log refused
// the guard, from what the log said then, or when a refusal rests on the map alone.
func (s *Service) submit(ctx context.Context, p *picture, judge judge) (*draft, eventstore.Result, error) {
	refused := 0
	for {
		if err := s.fill(ctx, p); err != nil {
			return nil, eventstore.Result{}, err
		}
		d, err := judge(p)
		if err != nil && !p.sure() {
			p.forget()
			continue
		}
		if err != nil {
			return nil, eventstore.Result{}, p.early(err)
		}
		p.appended = true
		res, err := s.append(ctx, d)
		if err == nil {
			return d, res, nil
		}
		if err := s.learnRefusal(p, d, err); err != nil {
			return d, eventstore.Result{}, err
		}
		refused++
		if refused > maxRejudged {
			return d, eventstore.Result{}, p.contended(err)
		}
		s.cfg.Metrics.Rejudged()
	}
}

// contended is the answer after the last refused guard: others were faster each time, at the seats or at
// the booking itself. A seat that is free again by now counts as theirs all the same.
func (p *picture) contended(refusal error) error {
	guard, ok := errors.AsType[*eventstore.GuardError](refusal)
	if !ok {
		return errContended
	}
	var taken []SeatProblem
	for _, e := range guard.Present {
		seat, ok := seatOf(e.Entity)
		if !ok || !slices.Contains(p.wanted, seat) {
			continue
		}
		status := p.seats[seat].Status
		if status == Available {
			status = Held
		}
		taken = append(taken, SeatProblem{Seat: seat, Status: status})
	}
	if len(taken) == 0 {
		return errContended
	}
	return &SeatsUnavailableError{Seats: taken}
}

// early marks a refusal that the log has not been asked about, unless nothing like the command was seen.
func (p *picture) early(err error) error {
	if p.appended || (!p.needsOwn && !p.repeated) {
		return err
	}
	return &earlyError{err: err}
}

// append sends the draft to the log, and wakes those who follow it.
func (s *Service) append(ctx context.Context, d *draft) (eventstore.Result, error) {
	request, err := d.request(s.cfg.MaxSeatsPerAddress)
	if err != nil {
		return eventstore.Result{}, err
	}
	res, err := s.log.Append(ctx, request)
	if err != nil {
		return eventstore.Result{}, err
	}
	s.clock.observe(res.Now)
	if res.Replayed == nil {
		s.cfg.Appended(ctx, res.Events)
		s.cfg.Notify(d.showing, res.Seq)
	}
	return res, nil
}

// learnRefusal makes the log's refusal an error of this package, or takes in what it says so that the
// command can be judged again; then it is nil.
func (s *Service) learnRefusal(p *picture, d *draft, err error) error {
	var guard *eventstore.GuardError
	var check *eventstore.CheckError
	var held *eventstore.HeldError
	switch {
	case errors.As(err, &guard):
		s.clock.observe(guard.Now)
		p.fromLog = true
		if len(guard.Present) == 0 {
			p.startOver()
		}
		return p.learn(guard.Present...)
	case errors.As(err, &check):
		s.clock.observe(check.Now)
		return d.failed(check.Check)
	case errors.As(err, &held):
		s.clock.observe(held.Now)
		return p.learnHeld(held)
	case errors.Is(err, eventstore.ErrNoStream):
		return d.unopened
	default:
		return fromLog(err)
	}
}

// learnHeld is about the session's other hold: one that ran out is ended by this command, any other is in
// its way.
func (p *picture) learnHeld(held *eventstore.HeldError) error {
	if held.Now.Before(held.Booking.Deadline) {
		other, err := Read(held.Event, held.Now)
		if err != nil {
			return err
		}
		return &ExistsError{Booking: other}
	}
	p.fromLog = true
	p.ending = append(p.ending, held.Booking.ID)
	return p.learn(held.Event)
}

// fill adds to the picture until nothing is missing.
func (s *Service) fill(ctx context.Context, p *picture) error {
	for range maxFills {
		seats, bookings := p.missing()
		if len(seats) == 0 && len(bookings) == 0 {
			return nil
		}
		if err := s.add(ctx, p, seats, bookings); err != nil {
			return err
		}
	}
	return fmt.Errorf("booking: picture of showing %s stays incomplete", p.showing)
}

// add asks the map about what is missing, or the log when the map won't do.
func (s *Service) add(ctx context.Context, p *picture, seats []Seat, bookings []uuid.UUID) error {
	if !p.fromLog {
		if view, err := s.maps.Look(ctx, p.showing, seats, p.own); err == nil {
			p.see(seats, view)
			p.fromLog = p.lacks(bookings)
			return nil
		}
		p.fromLog = true
		return nil
	}
	events, err := s.log.Latest(ctx, p.showing, entities(seats, bookings))
	if err != nil {
		return fromLog(err)
	}
	if err := p.learn(events...); err != nil {
		return err
	}
	p.nothingBut(seats, bookings)
	return nil
}

// lacks says that the map was asked about bookings and doesn't have them all.
func (p *picture) lacks(bookings []uuid.UUID) bool {
	for _, id := range bookings {
		if _, ok := p.bookings[id]; !ok {
			return true
		}
	}
	return false
}

// replay is the booking as of a recorded command.
func (s *Service) replay(ctx context.Context, recorded eventstore.Recorded) (Booking, error) {
	event, err := s.log.LatestAt(ctx, recorded.Stream, BookingEntity(recorded.Booking), recorded.Seq)
	if err != nil {
		return Booking{}, fromLog(err)
	}
	return s.read(event)
}

// read makes a booking of its event, with the database's clock as it is now.
func (s *Service) read(e eventstore.Event) (Booking, error) {
	now, _ := s.clock.now()
	return Read(e, now)
}

// outcome is the booking after a command that passed, or was recorded before.
func (s *Service) outcome(ctx context.Context, d *draft, res eventstore.Result) (Booking, error) {
	if res.Replayed != nil {
		return s.replay(ctx, *res.Replayed)
	}
	for _, e := range res.Events {
		if e.Entity == BookingEntity(d.booking) {
			return s.read(e)
		}
	}
	return Booking{}, fmt.Errorf("booking: append to %s lacks the booking's own event", d.showing)
}

// fromLog makes errors of the event store those of this package.
func fromLog(err error) error {
	switch {
	case errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, eventstore.ErrOverloaded):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, eventstore.ErrOutcomeUnknown):
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case errors.Is(err, eventstore.ErrMismatch):
		return ErrKeyMismatch
	case errors.Is(err, eventstore.ErrAddressLimit):
		return ErrAddressLimit
	case isNotFound(err):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	default:
		return fmt.Errorf("booking: %w", err)
	}
}

func isNotFound(err error) bool {
	return errors.Is(err, eventstore.ErrNotFound) || errors.Is(err, eventstore.ErrNoStream)
}
