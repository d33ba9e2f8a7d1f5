package eventstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// mostSubmissions bounds how often a request is judged that met a hold just as it ended.
const mostSubmissions = 3

// Append adds the request's events to its stream, all or none, together with its changes of the booking
// index and its command. It joins whatever batch its lane flushes next, so Run must be running.
//
// A request is judged in this order, and the first that applies is the answer: its command is recorded
// (Result.Replayed, or ErrMismatch); no such stream (ErrNoStream); a check fails (*CheckError); an
// entity has changed (*GuardError); the session has another hold (*HeldError); the address limit
// (ErrAddressLimit). Nothing of a refused request is kept, so that its command may be tried again.
//
// Other errors: ErrInvalid; ErrOverloaded and ErrUnavailable, when nothing was done; ErrOutcomeUnknown; the
// context's error, only when nothing was sent.
func (s *Store) Append(ctx context.Context, req Request) (Result, error) {
	req, err := normalize(req)
	if err != nil {
		return Result{}, err
	}
	var res Result
	for range mostSubmissions {
		res, err = s.submit(ctx, &req)
		if !errors.Is(err, errAgain) {
			return res, err
		}
	}
	return Result{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// submit queues a request and waits for its answer.
func (s *Store) submit(ctx context.Context, req *Request) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("eventstore: append: %w", err)
	}
	p := &pending{request: req, queued: time.Now(), answer: make(chan answer, 1)}
	if err := s.enqueue(p); err != nil {
		return Result{}, err
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	if p.giveUp() {
		return Result{}, fmt.Errorf("eventstore: append: %w", ctx.Err())
	}
	select {
	case a := <-p.answer: // it came at the same moment
		return a.result, a.err
	default:
		return Result{}, fmt.Errorf("%w: the caller stopped waiting", ErrOutcomeUnknown)
	}
}

func (s *Store) enqueue(p *pending) error {
	s.intake.RLock()
	defer s.intake.RUnlock()
	if s.closed {
		return fmt.Errorf("%w: the store has stopped", ErrUnavailable)
	}
	select {
	case s.laneOf(p.request.Stream).queue <- p:
		return nil
	default:
		return ErrOverloaded
	}
}

// laneOf is the stream's lane, always the same one, so that its appends never wait for each other's locks.
func (s *Store) laneOf(stream uuid.UUID) *lane {
	return s.lanes[binary.BigEndian.Uint64(stream[8:])%uint64(len(s.lanes))]
}

// pending is a request on its way: queued, then either taken by its lane or given up by its caller.
type pending struct {
	request *Request
	queued  time.Time
	claimed atomic.Bool
	answer  chan answer // of one answer, so that a lane never waits for a caller
}

type answer struct {
	result Result
	err    error
}

// take claims the request for a flush; false when its caller gave it up.
func (p *pending) take() bool { return p.claimed.CompareAndSwap(false, true) }

// giveUp claims the request for nobody; false when a flush has taken it.
func (p *pending) giveUp() bool { return p.claimed.CompareAndSwap(false, true) }
