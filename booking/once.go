package booking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// flights are the commands under way in this process, at most one for each session and key.
type flights struct {
	mu   sync.Mutex
	open map[flightKey]*flight
}

type flightKey struct {
	session uuid.UUID
	key     string
}

// flight is one command under way. Its outcome may be read once done is closed.
type flight struct {
	route   string
	body    [32]byte
	done    chan struct{}
	booking Booking
	err     error
}

// once runs a command unless the same one is under way; then it waits for that one's outcome, at most
// for wait. A flight that ended only because its caller went away has no outcome: the next runs itself.
func (f *flights) once(ctx context.Context, cmd Command, wait time.Duration, run func() (Booking, error)) (Booking, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		mine, other := f.enter(cmd)
		if mine != nil {
			return f.fly(cmd, mine, run)
		}
		if other.route != cmd.Route || other.body != cmd.Body {
			return Booking{}, ErrKeyMismatch
		}
		select {
		case <-other.done:
		case <-timer.C:
			return Booking{}, ErrRequestInFlight
		case <-ctx.Done():
			return Booking{}, context.Cause(ctx)
		}
		if !abandoned(other.err) {
			shared := other.booking
			shared.Seats = slices.Clone(shared.Seats)
			return shared, other.err
		}
	}
}

// enter opens a flight, or names the one that is open.
func (f *flights) enter(cmd Command) (mine, other *flight) {
	key := flightKey{session: cmd.Session, key: cmd.Key}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other, ok := f.open[key]; ok {
		return nil, other
	}
	mine = &flight{route: cmd.Route, body: cmd.Body, done: make(chan struct{}), err: errAbandoned}
	f.open[key] = mine
	return mine, nil
}

func (f *flights) fly(cmd Command, mine *flight, run func() (Booking, error)) (Booking, error) {
	defer func() {
		f.mu.Lock()
		delete(f.open, flightKey{session: cmd.Session, key: cmd.Key})
		f.mu.Unlock()
		close(mine.done)
	}()
	booking, err := run()
	mine.booking, mine.err = booking, err
	return booking, err
}

// errAbandoned is the outcome of a flight that has none, such as one that panicked.
var errAbandoned = errors.New("booking: abandoned")

func abandoned(err error) bool {
	return errors.Is(err, errAbandoned) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
