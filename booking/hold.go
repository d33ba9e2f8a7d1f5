package booking

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// bookingSpace is the namespace of booking ids, which derive from a session and a command's key.
const bookingSpace = "1c0f5d0e-3f0b-5c37-9a52-6f2f0a7d9b11"

// commandID is the same for the same session and key on every replica. For a hold it is the booking's
// id, so a retry meets its own lock; for every command it names the acquisition of its locks.
func commandID(c Command) uuid.UUID {
	name := append(slices.Clone(c.Session[:]), c.Key...)
	return uuid.NewSHA1(uuid.MustParse(bookingSpace), name)
}

func (s *Service) hold(ctx context.Context, o order, showing uuid.UUID, seats []Seat) (Booking, error) {
	show, err := s.sellable(showing, seats)
	if err != nil {
		return Booking{}, err
	}
	p := s.newPicture(showing, o.Session, commandID(o.Command))
	p.wanted = seats
	return s.take(ctx, o, p, func(p *picture) (*draft, error) { return s.judgeHold(o, show, p) })
}

func (s *Service) addSeats(ctx context.Context, o order, booking uuid.UUID, seats []Seat) (Booking, error) {
	p, err := s.locate(ctx, o.Session, booking)
	if err != nil {
		return Booking{}, err
	}
	p.wanted = seats
	show, err := s.sellable(p.showing, seats)
	if err != nil {
		return Booking{}, err
	}
	return s.take(ctx, o, p, func(p *picture) (*draft, error) { return s.judgeAdd(o, show, p) })
}

// sellable is the showing, when a booking could ever have these seats of it.
func (s *Service) sellable(showing uuid.UUID, seats []Seat) (Showing, error) {
	if len(seats) == 0 {
		return Showing{}, &InvalidError{Reason: "no seats"}
	}
	show, ok := s.catalogue.Offer(showing)
	if !ok {
		return Showing{}, &earlyError{err: ErrNotFound}
	}
	seen := make(map[Seat]bool, len(seats))
	var unknown []Seat
	for _, seat := range seats {
		if seen[seat] {
			return Showing{}, &InvalidError{Reason: "seat " + string(seat) + " is named twice"}
		}
		seen[seat] = true
		if !show.HasSeat(seat) {
			unknown = append(unknown, seat)
		}
	}
	switch {
	case len(unknown) > 0:
		return Showing{}, &UnknownSeatsError{Seats: unknown}
	case len(seats) > s.cfg.MaxSeats:
		return Showing{}, &earlyError{err: &TooManySeatsError{Limit: s.cfg.MaxSeats}}
	case show.Cancelled:
		return Showing{}, &earlyError{err: &SalesClosedError{OpensAt: show.OpensAt, ClosesAt: show.ClosesAt}}
	}
	return show, nil
}

// take locks the seats that the picture's command wants, appends, and keeps the locks for as long as
// the hold lasts. A refusal lets them go; when the outcome is unknown they end by themselves.
func (s *Service) take(ctx context.Context, o order, p *picture, judge judge) (Booking, error) {
	s.sample(ctx, p.showing)
	if err := s.fill(ctx, p); err != nil {
		return Booking{}, err
	}
	grip, err := s.grip(ctx, o.Command, p)
	if err != nil {
		return Booking{}, err
	}
	d, res, err := s.submit(ctx, p, judge)
	if err != nil {
		s.letGo(ctx, grip, err)
		return Booking{}, err
	}
	booking, err := s.outcome(ctx, d, res)
	if err != nil || res.Replayed != nil {
		return booking, err
	}
	s.remember(booking)
	s.freeLocks(ctx, d)
	s.keep(ctx, grip, booking)
	return booking, nil
}

func (s *Service) judgeHold(o order, show Showing, p *picture) (*draft, error) {
	if err := s.obstacle(o, p); err != nil {
		return nil, err
	}
	d := newDraft(o, show.ID, p.own)
	d.limited = true
	d.requireSales(show)
	hold := eventstore.Deadline{In: s.cfg.HoldFor}
	s.takeSeats(d, p, p.wanted, hold)

	seats := slices.Clone(p.wanted)
	show.Sort(seats)
	d.changed(TypeBookingHeld, 0, BookingChanged{
		Booking: p.own, Session: o.Session, State: StateHeld, Seats: seats, Total: show.Price(seats), Why: WhyHold,
	}, hold)
	return d, nil
}

func (s *Service) judgeAdd(o order, show Showing, p *picture) (*draft, error) {
	own, err := p.ownHold(o)
	if err != nil {
		return nil, err
	}
	added := without(p.wanted, own.Seats)
	if len(own.Seats)+len(added) > s.cfg.MaxSeats {
		return nil, &TooManySeatsError{Limit: s.cfg.MaxSeats}
	}
	if err := s.obstacle(o, p); err != nil {
		return nil, s.insteadOf(err, p)
	}
	d := newDraft(o, show.ID, p.own)
	d.limited = true
	d.require(eventstore.Check{Before: own.Deadline}, ErrHoldExpired)
	d.requireSales(show)
	hold := until(own.Deadline)
	s.takeSeats(d, p, added, hold)

	seats := append(slices.Clone(own.Seats), added...)
	show.Sort(seats)
	d.changed(TypeBookingSeatsAdded, own.Seq, BookingChanged{
		Booking: p.own, Session: o.Session, State: StateHeld, Seats: seats, Total: show.Price(seats), Why: WhyHold,
	}, hold)
	return d, nil
}

// insteadOf is what to say when seats can't be added: that the hold itself is over matters more.
func (s *Service) insteadOf(refusal error, p *picture) error {
	if own := p.bookings[p.own]; own.State == StateHeld && s.clock.surelyPast(own.Deadline) {
		return ErrHoldExpired
	}
	return refusal
}

// obstacle is why the wanted seats can't be had: others have some of them, or the session's own other
// hold does. A hold that may be over is no obstacle; whether it is, the log judges.
func (s *Service) obstacle(o order, p *picture) error {
	taken := p.unavailable()
	for _, problem := range taken {
		holder := p.seats[problem.Seat].Booking
		other, ok := p.bookings[holder]
		if ok && other.State == StateHeld && other.Session == o.Session {
			return &ExistsError{Booking: s.show(p, holder)}
		}
	}
	if len(taken) > 0 {
		return &SeatsUnavailableError{Seats: taken}
	}
	return nil
}

// unavailable are the wanted seats that someone else surely has, by the picture.
func (p *picture) unavailable() []SeatProblem {
	var taken []SeatProblem
	for _, seat := range p.wanted {
		fact := p.seats[seat]
		others := fact.Booking != p.own
		held := fact.Status == Held && others && !p.mayBeOver(fact.Deadline)
		sold := fact.Status == Sold && others
		if held || sold || fact.Status == Blocked {
			taken = append(taken, SeatProblem{Seat: seat, Status: fact.Status})
		}
	}
	return taken
}

// takeSeats adds the seats to the command's own booking, and first ends the holds that have them.
func (s *Service) takeSeats(d *draft, p *picture, seats []Seat, hold eventstore.Deadline) {
	for _, id := range p.toEnd() {
		d.end(p, id, WhyTakeover, seats, s.notDue(d, p, id))
	}
	for _, seat := range seats {
		before, why := p.seats[seat].SeatState, WhyHold
		if before.Status == Held {
			why = WhyTakeover
		}
		d.seat(seat, before, Held, p.own, why, hold)
	}
}

// toEnd are the holds that the command ends: those that have seats it wants, and the session's own.
func (p *picture) toEnd() []uuid.UUID {
	all := slices.Clone(p.ending)
	for _, seat := range p.wanted {
		if fact := p.seats[seat]; fact.Status == Held && fact.Booking != p.own && !slices.Contains(all, fact.Booking) {
			all = append(all, fact.Booking)
		}
	}
	return slices.DeleteFunc(all, func(id uuid.UUID) bool { return p.bookings[id].State != StateHeld })
}

// notDue is what it means that another hold turns out not to be over.
func (s *Service) notDue(d *draft, p *picture, id uuid.UUID) error {
	if p.bookings[id].Session == d.Session {
		return &ExistsError{Booking: s.show(p, id)}
	}
	var taken []SeatProblem
	for _, seat := range p.wanted {
		if p.seats[seat].Booking == id {
			taken = append(taken, SeatProblem{Seat: seat, Status: Held})
		}
	}
	return &SeatsUnavailableError{Seats: taken}
}

// show makes a booking of what the picture has of it.
func (s *Service) show(p *picture, id uuid.UUID) Booking {
	fact := p.bookings[id]
	now, _ := s.clock.now()
	return Booking{
		ID: id, Showing: p.showing, Session: fact.Session, State: fact.State, Seats: slices.Clone(fact.Seats),
		ExpiresAt: fact.Deadline, Now: now, Seq: fact.Seq, Total: fact.Total,
	}
}
