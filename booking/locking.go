package booking

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/lock"
)

// grip is what a command has of the locks on the seats that it takes.
type grip struct {
	request lock.Request
	// has says that the command locked the seats.
	has bool
	// holders had the locks when the map didn't agree and the log was left to decide.
	holders map[string]uuid.UUID
}

// grip locks the seats that the command wants and doesn't have. A refusal is final only when the map
// agrees with it; else the log decides.
func (s *Service) grip(ctx context.Context, cmd Command, p *picture) (grip, error) {
	seats := without(p.wanted, p.bookings[p.own].Seats)
	g := grip{request: lock.Request{
		Showing: p.showing, Seats: codes(seats), Owner: p.own, ID: commandID(cmd).String(), TTL: s.cfg.LockFor,
	}}
	if len(seats) == 0 {
		return g, nil
	}
	err := s.acquire(ctx, p, g.request)
	var taken *lock.TakenError
	switch {
	case err == nil:
		g.has = true
		s.cfg.Metrics.Lock(LockTaken)
		return g, nil
	case errors.As(err, &taken) && p.agrees(taken.Holders):
		s.cfg.Metrics.Lock(LockFinal)
		return g, p.earlyIfRepeated(s.insteadOf(&SeatsUnavailableError{Seats: p.unavailable()}, p))
	case errors.As(err, &taken):
		s.cfg.Metrics.Lock(LockDoubted)
		g.holders = taken.Holders
		return g, nil
	case errors.Is(err, lock.ErrShowingLocked):
		return g, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case ctx.Err() != nil:
		return g, context.Cause(ctx)
	default:
		s.cfg.Metrics.Lock(LockUnavailable)
		return g, nil
	}
}

// firstDoubt is how long the first doubt lasts; each further one lasts twice as long.
const firstDoubt = 5 * time.Millisecond

// acquire locks the seats. While the map doesn't agree with a refusal it tries again for a moment: most
// likely whoever has the lock is just about to have the seats, and the map to show it. So the
// losers of a rush, who all come in that moment, don't all go to the log.
func (s *Service) acquire(ctx context.Context, p *picture, r lock.Request) error {
	_, err := s.locks.Acquire(ctx, r)
	var taken *lock.TakenError
	for wait, waited := firstDoubt, time.Duration(0); waited < s.cfg.DoubtFor; wait *= 2 {
		if !errors.As(err, &taken) || p.fromLog || p.meetsItself() || p.agrees(taken.Holders) {
			return err
		}
		wait = min(wait, s.cfg.DoubtFor-waited)
		if !pause(ctx, wait) {
			return err
		}
		waited += wait
		view, lookErr := s.maps.Look(ctx, p.showing, p.wanted, p.own)
		if lookErr != nil {
			return err
		}
		p.see(p.wanted, view)
		_, err = s.locks.Acquire(ctx, r)
	}
	return err
}

// pause waits, and is false when ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// agrees says that the map confirms the lock's refusal for at least one seat: it is sold or blocked, or
// the same other session holds it for a while yet. A map that names another holder is old, and one may know
// itself that it is. What a booking that isn't a hold may not do is another refusal.
func (p *picture) agrees(holders map[string]uuid.UUID) bool {
	if p.old || p.meetsItself() || (p.needsOwn && p.bookings[p.own].State != StateHeld) {
		return false
	}
	return slices.ContainsFunc(p.unavailable(), func(problem SeatProblem) bool {
		fact := p.seats[problem.Seat]
		holder, refused := holders[string(problem.Seat)]
		return refused && (fact.Status != Held || fact.Booking == holder)
	})
}

// meetsItself says that another hold of the same session has one of the wanted seats: that is another
// refusal, and the log's.
func (p *picture) meetsItself() bool {
	return slices.ContainsFunc(p.unavailable(), func(problem SeatProblem) bool {
		other, ok := p.bookings[p.seats[problem.Seat].Booking]
		return ok && other.State == StateHeld && other.Session == p.session
	})
}

// earlyIfRepeated lets a refusal stand without a look into the log unless the command may be a repeated
// one: a hold whose booking was here before, or an addition of seats that the booking once had.
func (p *picture) earlyIfRepeated(refusal error) error {
	if !p.needsOwn {
		return p.early(refusal)
	}
	own := p.bookings[p.own]
	again := slices.ContainsFunc(p.wanted, func(seat Seat) bool { return slices.Contains(own.GivenBack, seat) })
	if own.sure || own.State != StateHeld || again {
		return &earlyError{err: refusal}
	}
	return refusal
}

// keep lets the locks of a hold live as long as it does. When the log overruled the locks, they are taken
// from those that had them. Failing that costs speed and nothing else: the log guards.
func (s *Service) keep(ctx context.Context, g grip, b Booking) {
	if len(g.request.Seats) == 0 || (!g.has && g.holders == nil) {
		return
	}
	now, _ := s.clock.now()
	g.request.TTL = b.ExpiresAt.Sub(now)
	if g.request.TTL < time.Millisecond {
		return
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	if g.has {
		_, err = s.locks.Renew(ctx, g.request)
	}
	if !g.has || errors.Is(err, lock.ErrNotHeld) {
		_, err = s.locks.Replace(ctx, g.request, g.holders)
	}
	s.complain(ctx, "keep those of a hold", err)
}

// letGo ends the command's own acquisition after a refusal.
func (s *Service) letGo(ctx context.Context, g grip, refusal error) {
	if !g.has || errors.Is(refusal, ErrOutcomeUnknown) {
		return
	}
	err := s.locks.Release(context.WithoutCancel(ctx), g.request.Showing, g.request.Owner, g.request.ID, g.request.Seats)
	s.complain(ctx, "release those of a refused command", err)
}

// freeLocks ends the locks of seats that the append freed, so that the next buyer, on a replica that
// has not heard of it yet, meets no lock.
func (s *Service) freeLocks(ctx context.Context, d *draft) {
	for _, ended := range d.ended {
		err := s.locks.Release(context.WithoutCancel(ctx), d.showing, ended.booking, "", codes(ended.seats))
		s.complain(ctx, "release those of freed seats", err)
	}
}

// complain logs what went wrong with locks, unless it is one of the ordinary things.
func (s *Service) complain(ctx context.Context, what string, err error) {
	if err == nil || errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrUnavailable) {
		return
	}
	s.cfg.Logger.WarnContext(ctx, "locks are not as they should be", slog.String("failed", what), slog.Any("error", err))
}

func codes(seats []Seat) []string {
	names := make([]string, len(seats))
	for i, seat := range seats {
		names[i] = string(seat)
	}
	return names
}
