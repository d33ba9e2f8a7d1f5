package eventstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// Run delivers until ctx ends, then returns nil. A database, cursors or a handler that fail are tried again
// for as long as it takes. It can be run once. Error: one of FollowerConfig.Validate.
func (f *Follower) Run(ctx context.Context) error {
	if err := f.cfg.Validate(); err != nil {
		return err
	}
	r := &run{
		f:       f,
		streams: map[uuid.UUID]*progress{},
		waiting: map[uuid.UUID]time.Time{},
		jobs:    make(chan job),
		done:    make(chan outcome, f.cfg.Workers),
		looks:   make(chan look),
		lookNow: make(chan struct{}, 1),
		ledger:  &ledger{},
	}
	var group errgroup.Group
	group.Go(func() error { r.coordinate(ctx); return nil })
	group.Go(func() error { r.watchHeads(ctx); return nil })
	group.Go(func() error { r.keepSaving(ctx); return nil })
	for range f.cfg.Workers {
		group.Go(func() error { r.work(ctx); return nil })
	}
	_ = group.Wait() // none of them fails
	r.saveLast(ctx)
	return nil
}

// run is the state of a running follower. One goroutine, coordinate, owns progress; it never waits for the database, the
// cursors or the handler: watchHeads, keepSaving and the workers do.
type run struct {
	f       *Follower
	log     string
	streams map[uuid.UUID]*progress
	ready   []uuid.UUID             // have work, in the order in which they get a worker
	waiting map[uuid.UUID]time.Time // failed, and are tried again then

	jobs    chan job
	done    chan outcome // has room for every worker, so that none waits at the end
	looks   chan look
	lookNow chan struct{}
	ledger  *ledger
}

// progress is how far one stream has come.
type progress struct {
	position Position
	moved    time.Time // when position last changed
	target   int64     // the highest seq that is said to exist
	reset    bool      // Reset is due before any events
	busy     bool      // a worker has it
	queued   bool      // it is in ready
	leaving  bool      // nobody follows it any more; forgotten once it has come to target
	failures int
}

func (p *progress) hasWork() bool { return p.position.Seq < p.target }

func (r *run) coordinate(ctx context.Context) {
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	for {
		retry.Reset(r.untilRetry())
		jobs, next := r.next()
		select {
		case <-ctx.Done():
			return
		case jobs <- next:
			r.started()
		case out := <-r.done:
			r.settle(ctx, out)
		case l := <-r.looks:
			r.apply(l)
		case <-r.f.hints.signal:
			r.applyHints(r.f.hints.take())
		case <-retry.C:
			r.retryDue()
		}
	}
}

// next is the job to hand out and where; a nil channel when there is none.
func (r *run) next() (chan<- job, job) {
	for len(r.ready) > 0 {
		stream := r.ready[0]
		p, ok := r.streams[stream]
		if ok && !p.busy && p.hasWork() {
			return r.jobs, job{stream: stream, log: r.log, position: p.position, target: p.target, reset: p.reset}
		}
		r.ready = r.ready[1:]
		if ok {
			p.queued = false
		}
	}
	return nil, job{}
}

// started notes that a worker took the first of the ready streams.
func (r *run) started() {
	p := r.streams[r.ready[0]]
	p.busy, p.queued = true, false
	r.ready = r.ready[1:]
}

// schedule queues a stream that has work and isn't waiting for its next try; it forgets one that is leaving and done.
func (r *run) schedule(stream uuid.UUID, p *progress) {
	if p.busy || p.queued {
		return
	}
	if !p.hasWork() {
		if p.leaving {
			delete(r.streams, stream)
			delete(r.waiting, stream)
		}
		return
	}
	if _, waits := r.waiting[stream]; waits {
		return
	}
	p.queued = true
	r.ready = append(r.ready, stream)
}

// settle takes a worker's outcome.
func (r *run) settle(ctx context.Context, out outcome) {
	p, ok := r.streams[out.stream]
	if !ok {
		return
	}
	p.busy = false
	if out.log == r.log {
		r.advance(ctx, p, out)
	}
	r.schedule(out.stream, p)
}

func (r *run) advance(ctx context.Context, p *progress, out outcome) {
	if out.position != p.position {
		p.position, p.moved = out.position, time.Now()
		if p.position.Seq > 0 {
			r.ledger.note(r.log, out.stream, p.position)
		}
	}
	p.reset = out.reset
	if out.ended && p.target == out.target {
		p.target = p.position.Seq // a hint had promised more than there is
	}
	if out.err == nil {
		p.failures = 0
		return
	}
	if ctx.Err() != nil {
		return
	}
	p.failures++
	pause := backOff(p.failures, r.f.cfg.RetryMin, r.f.cfg.RetryMax)
	r.waiting[out.stream] = time.Now().Add(pause)
	r.f.cfg.Logger.WarnContext(ctx, "delivery of events failed",
		slog.String("stream", out.stream.String()), slog.Int64("after", p.position.Seq),
		slog.Int("failures", p.failures), slog.Duration("pause", pause), slog.Any("error", out.err))
}

// backOff doubles from least up to most.
func backOff(failures int, least, most time.Duration) time.Duration {
	pause := least
	for range failures - 1 {
		if pause >= most/2 {
			return most
		}
		pause *= 2
	}
	return pause
}

func (r *run) untilRetry() time.Duration {
	soonest := time.Hour
	for _, at := range r.waiting {
		soonest = min(soonest, time.Until(at))
	}
	return max(soonest, 0)
}

func (r *run) retryDue() {
	now := time.Now()
	for stream, at := range r.waiting {
		if now.Before(at) {
			continue
		}
		delete(r.waiting, stream)
		if p, ok := r.streams[stream]; ok {
			r.schedule(stream, p)
		}
	}
}

func (r *run) applyHints(hinted map[uuid.UUID]int64) {
	for stream, seq := range hinted {
		p, ok := r.streams[stream]
		if !ok {
			// A new stream perhaps; the heads know.
			select {
			case r.lookNow <- struct{}{}:
			default:
			}
			continue
		}
		p.target = max(p.target, seq)
		r.schedule(stream, p)
	}
}
