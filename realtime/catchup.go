package realtime

import (
	"context"
	"errors"
	"time"
)

// straggler is a socket that has seen more of the log than this server's map has: the server is the
// one behind. It waits until due at most.
type straggler struct {
	request
	due time.Time
}

// wave is one call to the map to catch up. A room has one at a time, to the nearest seq that anyone
// waits for, so that a seq nobody will ever reach holds nobody else up.
type wave struct {
	target int64
	cancel context.CancelFunc
	// over is closed when the call has returned err.
	over chan struct{}
	err  error
}

func (r *room) wait(q request) {
	r.ahead[q.conn] = straggler{request: q, due: time.Now().Add(r.hub.cfg.CatchUpTimeout)}
}

// caughtUp takes those from the stragglers whose wait is over: the map has come, will not come in
// time, or can't come, which leaves a snapshot of what there is.
func (r *room) caughtUp() []request {
	failed := r.waveFailed()
	now := time.Now()
	var joins []request
	for c, s := range r.ahead {
		hopeless := failed || !s.due.After(now)
		if !hopeless && s.resume.log == r.log && s.resume.since > r.seq {
			continue
		}
		if hopeless {
			s.resume = resume{}
		}
		delete(r.ahead, c)
		joins = append(joins, s.request)
	}
	return joins
}

// waveFailed ends a wave that is over, and says whether the map can't catch up at all.
func (r *room) waveFailed() bool {
	if r.wave == nil {
		return false
	}
	select {
	case <-r.wave.over:
	default:
		return false
	}
	err := r.wave.err
	r.endWave()
	return err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// chase keeps a wave going while someone waits.
func (r *room) chase(ctx context.Context) {
	if len(r.ahead) == 0 {
		r.endWave()
		return
	}
	var nearest int64
	var due time.Time
	for _, s := range r.ahead {
		if nearest == 0 || s.resume.since < nearest {
			nearest = s.resume.since
		}
		if due.IsZero() || s.due.Before(due) {
			due = s.due
		}
	}
	if r.wave != nil && r.wave.target <= nearest {
		return
	}
	r.endWave()
	r.startWave(ctx, nearest, due)
}

func (r *room) startWave(ctx context.Context, target int64, due time.Time) {
	ctx, cancel := context.WithDeadline(ctx, due)
	w := &wave{target: target, cancel: cancel, over: make(chan struct{})}
	r.wave = w
	feed := r.feed
	go func() {
		defer r.poke()
		defer close(w.over)
		w.err = feed.CatchUp(ctx, target)
	}()
}

// endWave stops the call and waits for it, so that a map is not closed under it.
func (r *room) endWave() {
	if r.wave == nil {
		return
	}
	r.wave.cancel()
	<-r.wave.over
	r.wave = nil
}
