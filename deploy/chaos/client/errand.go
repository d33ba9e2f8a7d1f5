package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// meaning is what an answer tells about its command.
type meaning int

const (
	done    meaning = iota // it was done
	refused                // it was judged and refused; sent again it may be judged anew
	ended                  // it was refused for a reason that stays
	nothing                // this attempt did nothing
	unclear                // nobody knows
)

func (a Answer) means() meaning {
	switch {
	case a.OK():
		return done
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable && a.Problem == problemUnavailable:
		return nothing
	case a.Problem == problemInFlight:
		return unclear
	case a.Problem == problemExpired, a.Problem == problemNotHeld:
		return ended
	case a.Status >= 400 && a.Status < 500:
		return refused
	default:
		return unclear
	}
}

// verdict is how a command ended, with all its attempts.
type verdict struct {
	answer   Answer // the last one; zero if there never was one
	url      string // where it came from
	outcome  history.Outcome
	call     time.Time // just before the first attempt
	returned time.Time // after the last answer was read
	attempts int
	answers  int
	lost     int     // attempts of which nobody knows what they did
	odd      *Answer // the first that the contract does not know; nil: none
}

// errand carries a command from replica to replica, under one key, until it has a final answer.
type errand struct {
	cfg     BuyersConfig
	session Session
	command Command
	first   int        // which replica to begin with
	rng     *rand.Rand // of this errand alone
}

// run returns the command's verdict: at the latest when the patience ends or, with what the attempt in flight brings, when ctx does.
func (e errand) run(ctx context.Context) verdict {
	patience, cancel := context.WithTimeout(ctx, e.cfg.Patience)
	defer cancel()
	v := verdict{outcome: history.Unknown}
	var pause backoff
	for {
		err := e.attempt(ctx, &v)
		if err == nil && v.settle() {
			return v
		}
		rest := time.Duration(e.rng.Int64N(int64(pause.next(20*time.Millisecond, 500*time.Millisecond))))
		if err == nil && v.answer.RetryAfter > 0 {
			rest = min(v.answer.RetryAfter, e.cfg.MaxRetryAfter)
		}
		if wait(patience, rest) != nil {
			v.giveUp()
			return v
		}
	}
}

// attempt sends the command once. It is not cut short by the end of ctx: an answer that comes is worth more than a second.
func (e errand) attempt(ctx context.Context, v *verdict) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Attempt)
	defer cancel()
	url := nth(e.cfg.Replicas(), e.first+v.attempts)
	e.cfg.Sending(e.command.Kind, url)
	v.attempts++
	if v.call.IsZero() {
		v.call = time.Now()
	}
	answer, err := e.session.Do(ctx, url, e.command)
	if err != nil {
		if !errors.Is(err, ErrNotSent) {
			v.lost++
		}
		return err
	}
	v.returned = time.Now()
	v.answer, v.url = answer, url
	v.answers++
	return nil
}

// settle takes the last answer for the command's, if it is a final one.
func (v *verdict) settle() bool {
	switch v.answer.means() {
	case done:
		v.outcome = history.OK
		return true
	case ended:
		v.outcome = history.Refused
		return true
	case refused:
		// An attempt that is unaccounted for may yet be done, after this one was refused.
		if v.lost == 0 {
			v.outcome = history.Refused
		}
		return true
	case nothing:
		return false
	default:
		v.lost++
		if a := v.answer; a.Problem != problemInFlight && a.Problem != problemOutcomeUnknown && v.odd == nil {
			v.odd = &a
		}
		return false
	}
}

// giveUp ends a command without a final answer. It did nothing if every attempt that was sent was told so.
func (v *verdict) giveUp() {
	if v.lost == 0 && v.answers > 0 {
		v.outcome = history.Refused
	}
}

// record writes the verdict into op.
func (v *verdict) record(op history.Op) history.Op {
	op.Call, op.Attempts, op.Outcome = v.call, v.attempts, v.outcome
	if v.outcome != history.Unknown {
		op.Return = v.returned
	}
	v.answer.record(&op)
	return op
}

func (a Answer) record(op *history.Op) {
	op.Status, op.Problem, op.Conflicts = a.Status, a.Problem, a.Conflicts
	if a.State != "" {
		op.State = a.State
	}
	// A refusal that names a booking names another one.
	if b := a.Booking; b != nil && a.OK() {
		op.Booking, op.State, op.After, op.Expires, op.Seq = b.ID, b.State, b.Seats, b.ExpiresAt, b.Seq
	}
}

// Finished completes op with what a single attempt (see Session.Do) brought; op.Call is the caller's, and this is called
// as soon as the attempt has returned.
func Finished(op history.Op, a Answer, err error) history.Op {
	v := verdict{outcome: history.Unknown, call: op.Call, attempts: 1}
	switch {
	case err == nil:
		v.returned, v.answer, v.answers = time.Now(), a, 1
		if !v.settle() {
			v.giveUp()
		}
	case !errors.Is(err, ErrNotSent):
		v.lost = 1
	}
	return v.record(op)
}
