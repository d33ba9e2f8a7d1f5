package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Client is the half of a Redis client that the locks need. Every client that NewClient makes has it.
type Client interface {
	Pipeline() redis.Pipeliner
}

// Locker keeps the locks of all showings in one Redis. It is safe for concurrent use and needs no
// closing: its goroutines end with the calls they serve.
type Locker struct {
	cfg     Config
	lanes   *lanes
	acquire *script
	renew   *script
	release *script
}

// New makes a Locker on a client, which stays the caller's to close. It does not talk to Redis.
// The error says what is wrong with the config.
func New(client Client, cfg Config) (*Locker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Locker{
		cfg:     cfg,
		lanes:   newLanes(client, cfg),
		acquire: newScript(acquireLua),
		renew:   newScript(renewLua),
		release: newScript(releaseLua),
	}, nil
}

// Acquire locks all the seats for the owner, or none. Seats that the owner has already are a success;
// the lock then lives at least as long as it did. Errors: *TakenError with the holders,
// ErrShowingLocked, ErrTooManyNested, ErrInvalidRequest, ErrUnavailable (the lock may then exist all
// the same, for at most its TTL), or the context's own.
func (l *Locker) Acquire(ctx context.Context, r Request) (Held, error) {
	return l.take(ctx, "acquire", r, nil)
}

// Replace locks all the seats for the owner, or none, and takes those named in present from exactly
// the owner named there. A seat is also won when it is free or the owner's already. Errors as Acquire.
func (l *Locker) Replace(ctx context.Context, r Request, present map[string]uuid.UUID) (Held, error) {
	return l.take(ctx, "replace", r, present)
}

func (l *Locker) take(ctx context.Context, op string, r Request, present map[string]uuid.UUID) (held Held, err error) {
	defer func(since time.Time) { l.observe(op, since, err) }(time.Now())
	if err := r.checkTaking(); err != nil {
		return Held{}, err
	}
	args := make([]any, 0, 4+2*len(r.Seats))
	args = append(args, r.Owner.String(), digest(r.ID), r.TTL.Milliseconds(), MaxNested)
	for _, seat := range r.Seats {
		from := ""
		if holder, ok := present[seat]; ok {
			from = holder.String()
		}
		args = append(args, seat, from)
	}
	reply, err := l.run(ctx, l.acquire, r.Showing, args)
	if err != nil {
		return Held{}, err
	}
	return decodeAcquire(reply)
}

// Renew lets the owner's locks on all the seats live at least TTL from now, or changes nothing. It
// never revives a lock that is over and never shortens one. Errors: ErrNotHeld, ErrInvalidRequest,
// ErrUnavailable, or the context's own.
func (l *Locker) Renew(ctx context.Context, r Request) (held Held, err error) {
	defer func(since time.Time) { l.observe("renew", since, err) }(time.Now())
	if err := r.check(); err != nil {
		return Held{}, err
	}
	args := make([]any, 0, 2+len(r.Seats))
	args = append(args, r.Owner.String(), r.TTL.Milliseconds())
	for _, seat := range r.Seats {
		args = append(args, seat)
	}
	reply, err := l.run(ctx, l.renew, r.Showing, args)
	if err != nil {
		return Held{}, err
	}
	return decodeRenew(reply)
}

// Release ends the acquisition with that id on the seats, or with id "" all of the owner's. A seat is
// free when its last acquisition ended. What is not the owner's is left alone. Errors: ErrNotHeld when
// at least one seat was not held by that acquisition (the others were freed all the same; so says also
// a release that was repeated), ErrInvalidRequest, ErrUnavailable, or the context's own.
func (l *Locker) Release(ctx context.Context, showing, owner uuid.UUID, id string, seats []string) (err error) {
	defer func(since time.Time) { l.observe("release", since, err) }(time.Now())
	if err := checkSeats(showing, owner, seats); err != nil {
		return err
	}
	args := make([]any, 0, 2+len(seats))
	args = append(args, owner.String(), "")
	if id != "" {
		args[1] = digest(id)
	}
	for _, seat := range seats {
		args = append(args, seat)
	}
	reply, err := l.run(ctx, l.release, showing, args)
	if err != nil {
		return err
	}
	return decodeRelease(reply)
}

// run has a script run on a showing's hash and waits for its reply, at most Config.Timeout.
func (l *Locker) run(ctx context.Context, s *script, showing uuid.UUID, args []any) (any, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, l.cfg.Timeout, errTooLate)
	defer cancel()
	reply, err := l.lanes.do(waiting, s, l.Key(showing), args)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

func (l *Locker) observe(op string, since time.Time, err error) {
	if l.cfg.Observe != nil {
		l.cfg.Observe(Observation{Op: op, Outcome: outcome(err), Took: time.Since(since)})
	}
}

func outcome(err error) string {
	_, taken := errors.AsType[*TakenError](err)
	switch {
	case err == nil:
		return "ok"
	case taken:
		return "taken"
	case errors.Is(err, ErrShowingLocked):
		return "showing_locked"
	case errors.Is(err, ErrNotHeld):
		return "not_held"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	default:
		return "error"
	}
}

// Waiting is how many calls wait for their turn to be sent, over all servers: for metrics.
func (l *Locker) Waiting() int {
	return l.lanes.waiting()
}
