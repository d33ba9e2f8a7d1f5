package booking

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const (
	// sweepBatch is how many holds are looked up at once.
	sweepBatch = 256
	// sweepers is how many of them are ended at once: together they share the log's commits.
	sweepers = 16
)

var (
	errNotDue = errors.New("booking: the hold is not over")
	errEnded  = errors.New("booking: the booking is not a hold any more")
)

// Expire ends a hold that ran out and puts its seats on sale; nil when it has ended already or isn't due,
// by the database's clock. Errors: ErrNotFound, ErrUnavailable, ErrOutcomeUnknown (it may be repeated).
func (s *Service) Expire(ctx context.Context, showing, booking uuid.UUID) error {
	_, err := s.expire(ctx, showing, booking)
	return err
}

// SweepExpired expires the holds that ran out in the showings, or in all open ones when showings is
// nil, and says how many it ended. Several replicas may do so at once: the guard lets one of them win.
func (s *Service) SweepExpired(ctx context.Context, showings []uuid.UUID) (int, error) {
	total := 0
	for {
		due, err := s.log.Expired(ctx, showings, sweepBatch)
		if err != nil {
			return total, fromLog(err)
		}
		var ended atomic.Int64
		var group errgroup.Group // one that fails doesn't keep the others from being ended
		group.SetLimit(sweepers)
		for _, row := range due {
			group.Go(func() error {
				did, err := s.expire(ctx, row.Stream, row.ID)
				if did {
					ended.Add(1)
				}
				return err
			})
		}
		err = group.Wait()
		total += int(ended.Load())
		if err != nil || len(due) < sweepBatch || ended.Load() == 0 {
			return total, err
		}
	}
}

// expire says whether it was this call that ended the hold.
func (s *Service) expire(ctx context.Context, showing, booking uuid.UUID) (did bool, err error) {
	defer func(since time.Time) { s.cfg.Metrics.Command("expire", time.Since(since), err) }(time.Now())
	p := s.newPicture(showing, uuid.Nil, booking)
	p.needsOwn = true
	d, _, err := s.submit(ctx, p, judgeExpire)
	if errors.Is(err, errNotDue) || errors.Is(err, errEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.freeLocks(ctx, d)
	return true, nil
}

func judgeExpire(p *picture) (*draft, error) {
	switch p.bookings[p.own].State {
	case "":
		return nil, ErrNotFound
	case StateHeld:
		d := newDraft(order{}, p.showing, p.own)
		d.end(p, p.own, WhyExpire, nil, errNotDue)
		return d, nil
	case StateConfirmed, StateReleased, StateExpired, StateRefunded:
	}
	return nil, errEnded
}
