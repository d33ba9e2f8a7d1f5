package eventstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// leastPause keeps hints of unknown streams from asking for the heads in a loop.
const leastPause = 50 * time.Millisecond

// ioTimeout bounds each call of the database or the cursors, so that a dead line is given up.
const ioTimeout = 5 * time.Second

// look is one look at the heads.
type look struct {
	log string
	at  time.Time // before the heads were read
	// again says that the looks before this one failed: the log was out of reach.
	again bool
	// heads are where the followed streams end.
	heads map[uuid.UUID]Position
	// fresh are the streams seen for the first time in this log, with their cursors; zero for none.
	fresh map[uuid.UUID]Position
	// gone are the streams that are no longer followed, with the last seq to deliver of each.
	gone map[uuid.UUID]int64
}

// watchHeads looks at the heads once a Poll, and when a hint names an unknown stream.
func (r *run) watchHeads(ctx context.Context) {
	w := &watch{f: r.f}
	failing := false
	for {
		l, err := w.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			r.f.cfg.Logger.WarnContext(ctx, "looking at the log's heads fails", slog.Any("error", err))
		}
		l.again, failing = failing, err != nil
		if l.heads != nil {
			select {
			case <-ctx.Done():
				return
			case r.looks <- l:
			}
		}
		if !r.pause(ctx) {
			return
		}
	}
}

// pause waits for the next look; false when ctx has ended.
func (r *run) pause(ctx context.Context) bool {
	poll := time.NewTimer(max(r.f.cfg.Poll-leastPause, 0))
	defer poll.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-poll.C:
	case <-r.lookNow:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(leastPause, r.f.cfg.Poll)):
		return true
	}
}

// watch remembers which streams' cursors were loaded in which log.
type watch struct {
	f     *Follower
	log   string
	known map[uuid.UUID]struct{}
}

// look reads the heads and the cursors of new streams. With an error it may still have heads.
func (w *watch) look(ctx context.Context) (look, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	at := time.Now()
	heads, err := w.f.store.Heads(ctx, w.streams())
	if err != nil {
		return look{}, err
	}
	if heads.Log != w.log {
		w.log, w.known = heads.Log, map[uuid.UUID]struct{}{}
	}
	l := look{log: heads.Log, at: at, heads: heads.Positions}
	if l.gone, err = w.leave(ctx, heads.Positions); err != nil {
		return look{}, err
	}
	l.fresh, err = w.meet(ctx, heads.Positions)
	return l, err
}

// streams is what to ask the heads of; nil for all open streams.
func (w *watch) streams() []uuid.UUID {
	if w.f.cfg.Streams == nil {
		return nil
	}
	return append([]uuid.UUID{}, w.f.cfg.Streams()...)
}

// leave finds the known streams that are no longer there. One that was closed is still delivered to its end.
func (w *watch) leave(ctx context.Context, present map[uuid.UUID]Position) (map[uuid.UUID]int64, error) {
	gone := map[uuid.UUID]int64{}
	var closed []uuid.UUID
	for stream := range w.known {
		if _, ok := present[stream]; !ok {
			gone[stream] = 0
			closed = append(closed, stream)
		}
	}
	if len(closed) > 0 && w.f.cfg.Streams == nil {
		last, err := w.f.store.Heads(ctx, closed)
		if err != nil {
			return nil, err
		}
		for stream, p := range last.Positions {
			gone[stream] = p.Seq
		}
	}
	for _, stream := range closed {
		delete(w.known, stream)
	}
	return gone, nil
}

// meet loads the cursors of the streams that are new. When that fails they stay out of the heads, and are new
// again at the next look.
func (w *watch) meet(ctx context.Context, present map[uuid.UUID]Position) (map[uuid.UUID]Position, error) {
	var fresh []uuid.UUID
	for stream := range present {
		if _, ok := w.known[stream]; !ok {
			fresh = append(fresh, stream)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	loaded, err := w.f.cursors.Load(ctx, w.log, fresh)
	if err != nil {
		for _, stream := range fresh {
			delete(present, stream)
		}
		return nil, err //nolint:wrapcheck // logged, and it says who it is
	}
	cursors := make(map[uuid.UUID]Position, len(fresh))
	for _, stream := range fresh {
		cursors[stream] = loaded[stream]
		w.known[stream] = struct{}{}
	}
	return cursors, nil
}

// apply takes a look at the heads into the progress of the streams.
func (r *run) apply(l look) {
	if l.log != r.log {
		r.changeLog(l)
	}
	if l.again {
		r.stopWaiting()
	}
	for stream, last := range l.gone {
		if p, ok := r.streams[stream]; ok {
			p.leaving = true
			p.target = last
			r.schedule(stream, p)
		}
	}
	for stream, head := range l.heads {
		p, ok := r.streams[stream]
		if !ok {
			p = begin(l.fresh[stream])
			r.streams[stream] = p
		}
		p.leaving = false
		p.target = max(p.target, head.Seq)
		if p.moved.Before(l.at) && !p.busy && astray(p.position, head) {
			p.position, p.reset, p.target = Position{}, true, head.Seq
		}
		r.schedule(stream, p)
	}
}

// stopWaiting tries all failed deliveries again at once: they failed because the log was out of reach, and the longer it
// was, the longer they would still wait.
func (r *run) stopWaiting() {
	for stream := range r.waiting {
		delete(r.waiting, stream)
		if p, ok := r.streams[stream]; ok {
			p.failures = 0
			r.schedule(stream, p)
		}
	}
}

// changeLog starts every stream anew: what was delivered was of another history.
func (r *run) changeLog(l look) {
	r.log = l.log
	for stream, old := range r.streams {
		if _, ok := l.heads[stream]; !ok {
			delete(r.streams, stream)
			continue
		}
		p := begin(l.fresh[stream])
		p.busy, p.queued = old.busy, old.queued
		r.streams[stream] = p
	}
	clear(r.waiting)
}

// begin is the progress of a stream with that cursor; without one, what the handler knows has to be forgotten first.
func begin(cursor Position) *progress {
	return &progress{position: cursor, reset: cursor.Seq <= 0}
}

// astray says whether a position can't be one of the log that ends in head.
func astray(p, head Position) bool {
	return p.Seq > head.Seq || (p.Seq == head.Seq && p.Event != head.Event)
}
