package eventstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
)

// job is one delivery: the events after position, after a Reset if need be.
type job struct {
	stream   uuid.UUID
	log      string
	position Position
	target   int64
	reset    bool
}

// outcome is where a job left its stream.
type outcome struct {
	job
	ended bool // there was nothing after position
	err   error
}

// errAstray: the event at the cursor is not the one that was delivered; the log was restored.
var errAstray = errors.New("eventstore: cursor is not in this log")

func (r *run) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-r.jobs:
			r.done <- r.f.deliver(ctx, j)
		}
	}
}

// deliver hands the handler one batch.
func (f *Follower) deliver(ctx context.Context, j job) outcome {
	out := outcome{job: j}
	if j.reset {
		if out.err = f.handler.Reset(ctx, j.stream, j.log); out.err != nil {
			return out
		}
		out.position, out.reset = Position{}, false
	}
	events, err := f.readAfter(ctx, j.stream, out.position)
	switch {
	case errors.Is(err, errAstray):
		f.cfg.Logger.WarnContext(ctx, "cursor is not in this log, starting from its beginning",
			slog.String("stream", j.stream.String()), slog.Int64("seq", out.position.Seq))
		out.position, out.reset = Position{}, true
		return out
	case err != nil:
		out.err = err
		return out
	case len(events) == 0:
		out.ended = true
		return out
	}
	if out.err = f.handler.Handle(ctx, j.stream, events); out.err != nil {
		return out
	}
	last := events[len(events)-1]
	out.position = Position{Seq: last.Seq, Event: last.ID}
	return out
}

// readAfter reads the events after p. It reads the one at p too, which must still be the one that p
// remembers.
func (f *Follower) readAfter(ctx context.Context, stream uuid.UUID, p Position) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	if p.Seq == 0 {
		return f.store.Read(ctx, stream, 0, f.cfg.Batch)
	}
	events, err := f.store.Read(ctx, stream, p.Seq-1, f.cfg.Batch+1)
	if err != nil && !errors.Is(err, ErrNoStream) {
		return nil, err
	}
	return following(p, events)
}

// following are the events after the first, which must be the one at p.
func following(p Position, events []Event) ([]Event, error) {
	if len(events) == 0 || events[0].Seq != p.Seq || events[0].ID != p.Event {
		return nil, fmt.Errorf("%w: seq %d", errAstray, p.Seq)
	}
	return events[1:], nil
}

// ledger has the positions that Cursors don't have yet.
type ledger struct {
	mu    sync.Mutex
	log   string
	dirty map[uuid.UUID]Position
}

func (l *ledger) note(log string, stream uuid.UUID, p Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != log || l.dirty == nil {
		l.log, l.dirty = log, map[uuid.UUID]Position{}
	}
	l.dirty[stream] = p
}

func (l *ledger) take() (string, map[uuid.UUID]Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.dirty
	l.dirty = nil
	return l.log, taken
}

// putBack returns what could not be saved, unless something newer has come.
func (l *ledger) putBack(log string, positions map[uuid.UUID]Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != log {
		return
	}
	maps.Copy(positions, l.dirty)
	l.dirty = positions
}

func (r *run) keepSaving(ctx context.Context) {
	tick := time.NewTicker(r.f.cfg.Save)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.save(ctx)
		}
	}
}

func (r *run) save(ctx context.Context) {
	log, positions := r.ledger.take()
	if len(positions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	if err := r.f.cursors.Save(ctx, log, positions); err != nil {
		r.ledger.putBack(log, positions)
		r.f.cfg.Logger.WarnContext(ctx, "saving cursors failed", slog.Any("error", err))
	}
}

// saveLast keeps what the workers delivered while the follower was stopping.
func (r *run) saveLast(ctx context.Context) {
	for len(r.done) > 0 {
		r.settle(ctx, <-r.done)
	}
	r.save(context.WithoutCancel(ctx))
}
