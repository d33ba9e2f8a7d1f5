package seatmap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// headerBatch is how many snapshots are asked about in one round trip.
const headerBatch = 128

// reign is a Projector's work in one term. It is the follower's cursors and handler: where a showing's
// snapshot is, there the follower goes on.
type reign struct {
	*Projector
	Term
	scripts *scripts
	// superseded is closed when a later term has written.
	superseded chan struct{}
	supersede  sync.Once
	// down says that Redis failed: nothing is written until a refresh works again.
	down   atomic.Bool
	outage outage

	mu          sync.Mutex
	log         string
	round       int64
	uses        int64
	loaded      int
	projections map[uuid.UUID]*projection
}

func newReign(p *Projector, term Term) *reign {
	r := &reign{
		Projector: p, Term: term,
		scripts:     newScripts(p.redis, p.cfg.Prefix),
		superseded:  make(chan struct{}),
		outage:      outage{logger: p.cfg.Logger, what: "snapshots can't be written"},
		projections: map[uuid.UUID]*projection{},
	}
	r.down.Store(p.redis == nil)
	return r
}

// Load implements eventstore.Cursors: the snapshots are the cursors. What can't be read, or is of another
// log, is left out and starts from the log.
func (r *reign) Load(ctx context.Context, log string, showings []uuid.UUID) (map[uuid.UUID]eventstore.Position, error) {
	r.enter(log)
	positions := make(map[uuid.UUID]eventstore.Position, len(showings))
	var ask []uuid.UUID
	for _, id := range showings {
		if at, ok := r.known(id, log); ok {
			positions[id] = at
		} else {
			ask = append(ask, id)
		}
	}
	for len(ask) > 0 && !r.down.Load() {
		batch := ask[:min(headerBatch, len(ask))]
		ask = ask[len(batch):]
		if err := r.adopt(ctx, log, batch, positions); err != nil {
			return nil, err
		}
	}
	return positions, nil
}

// Save implements eventstore.Cursors: writing a snapshot has saved it.
func (r *reign) Save(context.Context, string, map[uuid.UUID]eventstore.Position) error { return nil }

// adopt goes on from the snapshots that are in Redis.
func (r *reign) adopt(
	ctx context.Context, log string, showings []uuid.UUID, positions map[uuid.UUID]eventstore.Position,
) error {
	limited, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	found, bad, err := r.scripts.headers(limited, showings)
	if err != nil {
		// Without Redis everything starts from the log.
		r.lost(ctx, err)
		return ctx.Err()
	}
	for id, err := range bad {
		r.bad.report(ctx, SnapshotKey(r.cfg.Prefix, id), err)
		// A later round may overwrite whatever seq stands there.
		r.nextRound()
	}
	for id, h := range found {
		if h.epoch > r.Epoch {
			return r.over()
		}
		if h.log != log {
			continue
		}
		h.epoch = r.Epoch
		p := r.projection(id)
		p.mu.Lock()
		r.unload(p)
		p.header = h
		positions[id] = h.position
		r.summarise(p)
		p.mu.Unlock()
	}
	return nil
}

// Reset implements eventstore.Handler: the showing starts from its first event.
func (r *reign) Reset(_ context.Context, showing uuid.UUID, log string) error {
	r.enter(log)
	p := r.projection(showing)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.position.Seq > 0 {
		r.nextRound()
	}
	p.header = header{log: log, epoch: r.Epoch}
	p.broken, p.summed = false, false
	r.unload(p)
	return nil
}

// Handle implements eventstore.Handler: it projects a showing's next events.
func (r *reign) Handle(ctx context.Context, showing uuid.UUID, events []eventstore.Event) error {
	p := r.projection(showing)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		return nil
	}
	if err := r.load(ctx, p, events[0].Seq-1); err != nil {
		return err
	}
	prev := p.state.Seq
	applied, freed, err := p.advance(events)
	if errors.Is(err, booking.ErrGap) {
		return err
	}
	if err != nil {
		r.bad.report(ctx, "event:"+showing.String(), err)
		p.broken = true
	}
	if len(applied) == 0 {
		return nil
	}
	p.sum()
	r.summarise(p)
	return r.write(ctx, p, prev, applied, freed)
}

// load makes sure that there is a state at the projection's position, which is at least seq. The caller
// holds p.mu.
func (r *reign) load(ctx context.Context, p *projection, seq int64) error {
	defer r.use(p)
	if p.position.Seq < seq {
		// The showing was dropped and is back.
		state, err := r.fold(ctx, p.id, seq)
		if err == nil {
			p.state = state
			p.sum()
		}
		return err
	}
	if p.state != nil {
		return nil
	}
	if p.state = r.readState(ctx, p); p.state != nil {
		return nil
	}
	state, err := r.fold(ctx, p.id, p.position.Seq)
	if err != nil {
		return err
	}
	if state.Position() != p.position {
		return fmt.Errorf("%w: showing %s", errDiverged, p.id)
	}
	p.state = state
	return nil
}

// readState is the state in Redis, if it is the one that is wanted; else nil.
func (r *reign) readState(ctx context.Context, p *projection) *booking.State {
	if p.position.Seq == 0 || r.down.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	key := SnapshotKey(r.cfg.Prefix, p.id)
	fields, err := r.redis.HGetAll(ctx, key).Result()
	if err != nil || len(fields) == 0 {
		return nil
	}
	found, err := decodeStored(fields)
	if err != nil {
		r.bad.report(ctx, key, err)
		return nil
	}
	if found.log != p.log || found.position != p.position {
		return nil
	}
	return found.state
}

// fold is the state at a seq, made of the log's events.
func (r *reign) fold(ctx context.Context, showing uuid.UUID, seq int64) (*booking.State, error) {
	state := booking.NewState()
	for state.Seq < seq {
		events, err := r.page(ctx, showing, state.Seq, min(int64(r.cfg.Page), seq-state.Seq))
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if err := state.Apply(e); err != nil {
				return nil, err
			}
		}
	}
	return state, nil
}

// page is the log's next events after a seq, at least one.
func (r *reign) page(ctx context.Context, showing uuid.UUID, after, limit int64) ([]eventstore.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	events, err := r.Projector.log.Read(ctx, showing, after, int(limit))
	if err != nil {
		return nil, fmt.Errorf("seatmap: read %s: %w", showing, err)
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("%w: showing %s ends at %d", errDiverged, showing, after)
	}
	return events, nil
}

// enter notes which log is followed. Within a term a new log begins a new round.
func (r *reign) enter(log string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log != "" && r.log != log {
		r.round++
	}
	r.log = log
}

func (r *reign) nextRound() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round++
}

func (r *reign) currentRound() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.round
}

// known is where the showing's projection stands, when it has one of this log.
func (r *reign) known(showing uuid.UUID, log string) (eventstore.Position, bool) {
	r.mu.Lock()
	p, ok := r.projections[showing]
	r.mu.Unlock()
	if !ok {
		return eventstore.Position{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.position, p.position.Seq > 0 && p.log == log
}

func (r *reign) projection(showing uuid.UUID) *projection {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.projections[showing]
	if !ok {
		p = &projection{id: showing, header: header{log: r.log, epoch: r.Epoch}}
		r.projections[showing] = p
	}
	return p
}

// use notes that a projection's state was used, and lets go of the one that was not for longest when
// there are too many. The caller holds p.mu.
func (r *reign) use(p *projection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uses++
	p.used = r.uses
	if p.state == nil || p.loaded {
		return
	}
	p.loaded = true
	r.loaded++
	for r.loaded > r.cfg.MaxStates {
		var oldest *projection
		for _, other := range r.projections {
			if other.loaded && other != p && (oldest == nil || other.used < oldest.used) {
				oldest = other
			}
		}
		// One that is being worked on is not the oldest for long.
		if oldest == nil || !oldest.mu.TryLock() {
			return
		}
		oldest.state, oldest.loaded = nil, false
		r.loaded--
		oldest.mu.Unlock()
	}
}

// unload lets go of a projection's state. The caller holds p.mu.
func (r *reign) unload(p *projection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.loaded {
		r.loaded--
	}
	p.state, p.loaded = nil, false
}

// summarise tells where the showing stands, as soon as its layout is known. The caller holds p.mu.
func (r *reign) summarise(p *projection) {
	seats, ok := r.layouts.Seats(p.id)
	p.summed = ok
	if ok {
		r.cfg.OnSummary(p.id, Summary{Seq: p.position.Seq, Available: len(seats) - p.taken, Epoch: r.Epoch})
	}
}

// over ends the term, since a later one has written.
func (r *reign) over() error {
	r.supersede.Do(func() { close(r.superseded) })
	return ErrSuperseded
}

// lost notes that Redis failed: nothing more is tried until the next refresh.
func (r *reign) lost(ctx context.Context, err error) {
	r.down.Store(true)
	r.outage.report(ctx, err)
}

// nextDeadline is the next end of a hold after now; zero for none.
func (r *reign) nextDeadline(now time.Time) time.Time {
	var next time.Time
	for _, p := range r.all() {
		p.mu.Lock()
		if p.deadline.After(now) && (next.IsZero() || p.deadline.Before(next)) {
			next = p.deadline
		}
		p.mu.Unlock()
	}
	return next
}

func (r *reign) all() []*projection {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*projection, 0, len(r.projections))
	for _, p := range r.projections {
		all = append(all, p)
	}
	return all
}
