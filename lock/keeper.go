package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Keep renews the lock every third of its TTL while ctx lives. The returned context ends when the lock
// is lost, with the reason as its cause: ErrNotHeld when it is no longer the owner's, ErrUnavailable when
// Redis was away for so long that the lock may have ended, ErrInvalidRequest at once; and it ends with ctx
// and with stop. The lock's age counts from when the renewal was sent, by this machine's monotonic clock.
// stop ends the keeper and waits for it; it does not release, and may be called more than once.
func (l *Locker) Keep(ctx context.Context, r Request) (context.Context, func()) {
	kept, lose := context.WithCancelCause(ctx)
	if err := r.check(); err != nil {
		lose(err)
		return kept, func() {}
	}
	var keeper sync.WaitGroup
	keeper.Go(func() { lose(l.keep(kept, r)) })
	return kept, func() {
		lose(context.Canceled)
		keeper.Wait()
	}
}

// keep renews until the lock is lost or ctx ends, and says which.
func (l *Locker) keep(ctx context.Context, r Request) error {
	sure := time.Now().Add(r.TTL)
	for {
		sent := time.Now()
		_, err := l.Renew(ctx, r)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			sure = sent.Add(r.TTL)
		case !errors.Is(err, ErrUnavailable):
			return err
		}
		wait := r.TTL / 3
		if err != nil {
			// Redis may be back long before a third of the TTL is over.
			wait = min(wait, l.cfg.ProbeEvery/2)
		}
		wait = min(wait, time.Until(sure))
		if wait <= 0 {
			return fmt.Errorf("%w until the lock was over", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
