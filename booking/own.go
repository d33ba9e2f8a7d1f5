package booking

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// locate begins the picture of a command on a booking that exists. The showing is remembered, so only
// the first command on a booking that this replica hears of asks the log for it.
func (s *Service) locate(ctx context.Context, session, booking uuid.UUID) (*picture, error) {
	at, ok := s.places.GetIfPresent(booking)
	if ok && at.session != session {
		return nil, ErrNotFound
	}
	if ok {
		p := s.newPicture(at.showing, session, booking)
		p.needsOwn = true
		return p, nil
	}
	row, event, err := s.log.Booking(ctx, booking)
	if err != nil {
		return nil, fromLog(err)
	}
	s.places.Set(booking, place{showing: row.Stream, session: row.Session})
	if row.Session != session {
		return nil, ErrNotFound
	}
	p := s.newPicture(row.Stream, session, booking)
	p.needsOwn = true
	if err := p.learn(event); err != nil {
		return nil, err
	}
	return p, nil
}

func (s *Service) remember(b Booking) {
	s.places.Set(b.ID, place{showing: b.Showing, session: b.Session})
}

// ownHold is the booking that the command is about, when it is a hold of the session's.
func (p *picture) ownHold(o order) (bookingFact, error) {
	own := p.bookings[p.own]
	switch {
	case own.State == "" || own.Session != o.Session:
		return own, ErrNotFound
	case own.State == StateExpired:
		return own, ErrHoldExpired
	case own.State != StateHeld:
		return own, &NotHeldError{State: own.State}
	default:
		return own, nil
	}
}

func (s *Service) giveBack(ctx context.Context, o order, booking uuid.UUID, seat Seat) (Booking, error) {
	return s.change(ctx, o, booking, func(p *picture) (*draft, error) {
		own, err := p.ownHold(o)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(own.Seats, seat) {
			return nil, ErrNotFound
		}
		show, ok := s.catalogue.Offer(p.showing)
		if !ok {
			return nil, ErrNotFound
		}
		d := newDraft(o, p.showing, p.own)
		d.require(eventstore.Check{Before: own.Deadline}, ErrHoldExpired)
		d.free(p, p.own, []Seat{seat}, WhyGiveBack)
		rest := without(own.Seats, []Seat{seat})
		body := BookingChanged{
			Booking: p.own, Session: o.Session, State: StateHeld, Seats: rest, Total: show.Price(rest), Why: WhyGiveBack,
		}
		if len(rest) == 0 {
			body.State = StateReleased
			d.changed(TypeBookingReleased, own.Seq, body, eventstore.Deadline{})
			return d, nil
		}
		d.changed(TypeBookingSeatGivenBack, own.Seq, body, until(own.Deadline))
		return d, nil
	})
}

func (s *Service) confirm(ctx context.Context, o order, booking uuid.UUID) (Booking, error) {
	return s.change(ctx, o, booking, func(p *picture) (*draft, error) {
		own, err := p.ownHold(o)
		if err != nil {
			return nil, err
		}
		if show, ok := s.catalogue.Offer(p.showing); ok && show.Cancelled {
			return nil, &SalesClosedError{OpensAt: show.OpensAt, ClosesAt: show.ClosesAt}
		}
		d := newDraft(o, p.showing, p.own)
		d.require(eventstore.Check{Before: own.Deadline}, ErrHoldExpired)
		for _, seat := range own.Seats {
			d.seat(seat, p.seats[seat].SeatState, Sold, p.own, WhyConfirm, eventstore.Deadline{})
		}
		d.changed(TypeBookingConfirmed, own.Seq, BookingChanged{
			Booking: p.own, Session: o.Session, State: StateConfirmed, Seats: own.Seats, Total: own.Total, Why: WhyConfirm,
		}, eventstore.Deadline{})
		return d, nil
	})
}

func (s *Service) release(ctx context.Context, o order, booking uuid.UUID) (Booking, error) {
	var at uuid.UUID
	released, err := s.change(ctx, o, booking, func(p *picture) (*draft, error) {
		at = p.showing
		own, err := p.ownHold(o)
		if own.State == StateReleased && own.Session == o.Session {
			return nil, &doneError{booking: s.show(p, p.own)}
		}
		if err != nil {
			return nil, err
		}
		d := newDraft(o, p.showing, p.own)
		d.require(eventstore.Check{Before: own.Deadline}, ErrHoldExpired)
		d.free(p, p.own, own.Seats, WhyRelease)
		d.changed(TypeBookingReleased, own.Seq, BookingChanged{
			Booking: p.own, Session: o.Session, State: StateReleased,
			Total: Money{Currency: own.Total.Currency}, Why: WhyRelease,
		}, eventstore.Deadline{})
		return d, nil
	})
	if errors.Is(err, ErrHoldExpired) && at != uuid.Nil {
		// It ran out before it could be released: nobody need wait for the sweep to have its seats.
		if err := s.Expire(ctx, at, booking); err != nil {
			s.cfg.Logger.WarnContext(ctx, "could not end a hold that ran out", slog.Any("error", err))
		}
	}
	return released, err
}

// change carries out a command on the session's own booking that needs no lock: the guard on the booking's
// own chain lets only one of two such commands win.
func (s *Service) change(ctx context.Context, o order, booking uuid.UUID, judge judge) (Booking, error) {
	p, err := s.locate(ctx, o.Session, booking)
	if err != nil {
		return Booking{}, err
	}
	d, res, err := s.submit(ctx, p, judge)
	if err != nil {
		return Booking{}, err
	}
	changed, err := s.outcome(ctx, d, res)
	if err == nil && res.Replayed == nil {
		s.freeLocks(ctx, d)
	}
	return changed, err
}
