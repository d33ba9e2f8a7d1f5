package realtime

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// room is the sockets that look at one showing. Its goroutine alone reads the map, decides what goes
// out, and keeps everything below pending; others leave requests.
type room struct {
	hub     *Hub
	showing uuid.UUID
	// wake says that there are requests, that a flight has landed or that a wave of catching up is over.
	wake   chan struct{}
	flight flight

	mu sync.Mutex
	// pending holds the latest request of each socket: what it asked for before is overtaken.
	pending map[*conn]request

	feed Map
	// log and seq are where every member is; stale is what they were told last.
	log   string
	seq   int64
	stale bool
	// members have the map at seq. waiting were told that the map can't be had yet. ahead have seen
	// more of the log than the map has.
	members map[*conn]struct{}
	waiting map[*conn]request
	ahead   map[*conn]straggler
	wave    *wave
	// last is the latest snapshot as a frame, encoded once for all who start from it.
	last encodedSnapshot
	// sent counts the messages of this step.
	sent int
}

// request is what a socket wants of a room: to start from somewhere, or to leave.
type request struct {
	conn   *conn
	resume resume
	leave  bool
}

type encodedSnapshot struct {
	frame *frame
	log   string
	seq   int64
	stale bool
}

// Times between tries to open a map.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 2 * time.Second
)

func newRoom(h *Hub, showing uuid.UUID) *room {
	r := &room{
		hub: h, showing: showing,
		wake:    make(chan struct{}, 1),
		pending: make(map[*conn]request),
		members: make(map[*conn]struct{}),
		waiting: make(map[*conn]request),
		ahead:   make(map[*conn]straggler),
	}
	r.flight.room = r
	return r
}

// post leaves a request. It never waits.
func (r *room) post(q request) {
	r.mu.Lock()
	r.pending[q.conn] = q
	r.mu.Unlock()
	r.poke()
}

func (r *room) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run lives as long as someone is in the room.
func (r *room) run(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil && !r.hub.leaveEmpty(r) {
		feed, err := r.open(ctx)
		switch {
		case errors.Is(err, ErrUnknownShowing):
			r.turnAllAway()
		case err != nil:
			r.excuse(ctx, err, retry)
			retry = min(2*retry, lastRetry)
		default:
			retry = firstRetry
			r.show(ctx, feed)
		}
	}
}

func (r *room) open(ctx context.Context) (Map, error) {
	ctx, cancel := context.WithTimeout(ctx, r.hub.cfg.OpenTimeout)
	defer cancel()
	return r.hub.maps.Open(ctx, r.showing)
}

// turnAllAway tells everyone that there is no such showing.
func (r *room) turnAllAway() {
	for _, q := range r.takeRequests() {
		r.waiting[q.conn] = q
	}
	for c := range r.waiting {
		c.turnedAway(r)
	}
	clear(r.waiting)
	for c := range r.members {
		c.turnedAway(r)
	}
	clear(r.members)
}

// excuse tells everyone that the map is old, those too who have none yet, and waits before the
// next try.
func (r *room) excuse(ctx context.Context, err error, wait time.Duration) {
	r.hub.cfg.Logger.WarnContext(ctx, "a seat map can't be opened",
		slog.String("showing", r.showing.String()), slog.Any("error", err))
	if !r.stale {
		r.stale = true
		r.broadcast("stale", staleFrame(r.showing, true))
	}
	next := time.NewTimer(wait)
	defer next.Stop()
	for {
		for _, q := range r.takeRequests() {
			// They start from a snapshot later, which also says that the map is no longer stale.
			r.waiting[q.conn] = request{conn: q.conn}
			q.conn.send(staleFrame(r.showing, true))
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			return
		case <-r.wake:
		}
	}
}

// show serves the room from an open map until nobody is left, ctx ends or the map does.
func (r *room) show(ctx context.Context, feed Map) {
	r.feed = feed
	defer func() {
		r.endWave()
		feed.Close()
		r.feed = nil
	}()
	for {
		// While messages are on their way to the sockets, what changes gathers for the next ones.
		if !r.flight.underWay() {
			r.step(ctx)
			if r.isEmpty() {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case _, ok := <-feed.Changes():
			if !ok {
				return
			}
		}
	}
}

// step brings everyone to the map's present and lets in whoever asked.
func (r *room) step(ctx context.Context) {
	r.sent = 0
	began := time.Now()
	joins := r.takeRequests()
	for c, q := range r.waiting {
		joins = append(joins, q)
		delete(r.waiting, c)
	}
	if r.log == "" {
		r.restart()
	} else {
		r.advance()
	}
	r.admit(append(joins, r.caughtUp()...))
	r.chase(ctx)
	if r.sent > 0 {
		r.flight.takeOff(r.hub.shards, began, r.sent)
	}
}

// takeRequests carries out the leaving, and returns the joining; who joins again is out of the room
// until it is let in.
func (r *room) takeRequests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var joins []request
	for c, q := range r.pending {
		delete(r.pending, c)
		delete(r.members, c)
		delete(r.waiting, c)
		delete(r.ahead, c)
		if !q.leave {
			joins = append(joins, q)
		}
	}
	return joins
}

// isEmpty says whether nobody is in the room or on the way to it. Only the room's goroutine asks.
func (r *room) isEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)+len(r.members)+len(r.waiting)+len(r.ahead) == 0
}

// advance sends everyone what changed since the room's seq, and returns that. Where the map can't
// say, all start from a snapshot again, and it is false.
func (r *room) advance() (Delta, bool) {
	d, ok := r.feed.Since(r.log, r.seq)
	if !ok {
		r.restart()
		return Delta{}, false
	}
	if d.Seq != r.seq {
		r.seq = d.Seq
		r.broadcastLazily("delta", func() *frame { return deltaFrame(r.showing, d) })
	}
	if d.Stale != r.stale {
		r.stale = d.Stale
		r.broadcast("stale", staleFrame(r.showing, d.Stale))
	}
	return d, true
}

// restart sends everyone the whole map.
func (r *room) restart() {
	s := r.snapshot()
	r.log, r.seq, r.stale = s.log, s.seq, s.stale
	r.broadcast("snapshot", s.frame)
}

// snapshot is the map as it is now, encoded anew only when it is another one.
func (r *room) snapshot() encodedSnapshot {
	s := r.feed.Snapshot()
	if r.last.frame == nil || r.last.log != s.Log || r.last.seq != s.Seq || r.last.stale != s.Stale {
		r.last = encodedSnapshot{frame: snapshotFrame(r.showing, s), log: s.Log, seq: s.Seq, stale: s.Stale}
	}
	return r.last
}

func (r *room) broadcast(kind string, f *frame) {
	for c := range r.members {
		c.send(f)
	}
	r.count(kind, len(r.members))
}

// broadcastLazily encodes only where someone is there to get it.
func (r *room) broadcastLazily(kind string, encoded func() *frame) {
	if len(r.members) > 0 {
		r.broadcast(kind, encoded())
	}
}

func (r *room) count(kind string, n int) {
	if n > 0 {
		r.sent += n
		r.hub.cfg.Metrics.Frames(kind, n)
	}
}
