package seatmap

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// Log is what Live needs of the event log.
type Log interface {
	// Heads tells the log's id, its clock, and the position of each of the streams that exists.
	Heads(ctx context.Context, streams []uuid.UUID) (eventstore.Heads, error)
	// Read is at most limit events after a seq, in order.
	Read(ctx context.Context, stream uuid.UUID, after int64, limit int) ([]eventstore.Event, error)
}

// Live keeps, in this replica's memory, the map of each showing that someone looks at. See the package's
// description for how.
type Live struct {
	cfg      LiveConfig
	log      Log
	redis    redis.UniversalClient
	layouts  Layouts
	queue    *queue
	listener *listener
	herald   herald
	graces   chan grace
	checkNow chan struct{}
	done     chan struct{}
	zipper   zipper

	logOutage, redisOutage outage
	badSnapshots           badOnce
	badMessages            badOnce
	// ahead is how far the database's clock is ahead of this machine's, in nanoseconds.
	ahead  atomic.Int64
	counts counters

	mu    sync.Mutex
	shows map[uuid.UUID]*show
}

// grace is a hint that waits for the leader's delta.
type grace struct {
	show *show
	over time.Time
}

// NewLive makes the live maps of one replica; they work while Run runs. Without Redis (nil) they follow
// the log alone.
func NewLive(cfg LiveConfig, log Log, client redis.UniversalClient, layouts Layouts) (*Live, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Live{
		cfg: cfg, log: log, redis: client, layouts: layouts,
		queue:    newQueue(),
		herald:   herald{hook: cfg.OnBooking},
		graces:   make(chan grace, 1024),
		checkNow: make(chan struct{}, 1),
		done:     make(chan struct{}),
		shows:    map[uuid.UUID]*show{},

		logOutage:    outage{logger: cfg.Logger, what: "the log can't be reached"},
		redisOutage:  outage{logger: cfg.Logger, what: "snapshots can't be read"},
		badSnapshots: badOnce{logger: cfg.Logger, what: "a snapshot in redis can't be used; the log is"},
		badMessages:  badOnce{logger: cfg.Logger, what: "a message in redis can't be used; the log is"},
	}
	if client != nil {
		l.listener = newListener(client, cfg.Logger, l.message, func(string) { l.check() })
		l.listener.want(HintChannel(cfg.Prefix))
		l.listener.want(BookingsChannel(cfg.Prefix))
	}
	return l, nil
}

// Run keeps the maps right until ctx ends, then returns nil. It runs once.
func (l *Live) Run(ctx context.Context) error {
	defer close(l.done)
	group, ctx := errgroup.WithContext(ctx)
	for range l.cfg.Readers {
		group.Go(func() error { return l.queue.work(ctx, l.read) })
	}
	if l.listener != nil {
		group.Go(func() error { return l.listener.run(ctx) })
	}
	group.Go(func() error { return l.checkHeads(ctx) })
	group.Go(func() error { return l.waitGraces(ctx) })
	group.Go(func() error { return l.tend(ctx) })
	return group.Wait()
}

// Open gives the showing's map, kept right until Close. The first opener waits until it is loaded: from
// Redis, when the snapshot there agrees with the log, else from the log. While the log can't be reached,
// the snapshot has to do, marked stale. ErrUnknownShowing; ErrClosed; the log's error, when there
// is no snapshot either; ctx's error.
func (l *Live) Open(ctx context.Context, showing uuid.UUID) (*Map, error) {
	m := &Map{live: l, changes: make(chan struct{}, 1)}
	s, err := l.follow(showing, m)
	if err != nil {
		return nil, err
	}
	m.show = s
	if err := l.wait(ctx, s); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Look is the showing's map as a command sees it: see booking.State.View. It is loaded when it isn't yet, and
// fails as Open does.
func (l *Live) Look(
	ctx context.Context, showing uuid.UUID, seats []booking.Seat, id uuid.UUID,
) (booking.View, error) {
	s, err := l.follow(showing, nil)
	if err != nil {
		return booking.View{}, err
	}
	if err := l.wait(ctx, s); err != nil {
		return booking.View{}, err
	}
	return s.look(seats, id, time.Now().Add(-l.cfg.StaleAfter)), nil
}

// Available is how many of the showing's seats are available, as of seq; false when its map isn't here.
func (l *Live) Available(showing uuid.UUID) (available int, seq int64, ok bool) {
	s := l.find(showing)
	if s == nil {
		return 0, 0, false
	}
	return s.counts()
}

// Watched are the showings whose maps are kept right here: those that are open, and those that lately were.
func (l *Live) Watched() []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(l.shows))
	for id := range l.shows {
		ids = append(ids, id)
	}
	return ids
}

// Offer applies events that this replica has just appended itself, before anyone else tells of them.
// Events that don't follow what the map has are left to the usual ways.
func (l *Live) Offer(ctx context.Context, events []eventstore.Event) {
	if len(events) == 0 {
		return
	}
	last := events[len(events)-1]
	s := l.find(last.Stream)
	if s == nil {
		return
	}
	if out := l.apply(ctx, s, "", events); out.behind {
		l.expect(s, last.Seq)
	}
}

// Now is the database's clock as this replica knows it.
func (l *Live) Now() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())).UTC() }

// follow finds the showing's map or starts to keep one, and notes that m (or, when nil, someone in
// passing) uses it.
func (l *Live) follow(showing uuid.UUID, m *Map) (*show, error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.shows[showing]
	if !ok {
		codes, known := l.layouts.Seats(showing)
		if !known {
			return nil, fmt.Errorf("%w: %s", ErrUnknownShowing, showing)
		}
		s = newShow(showing, codes, &l.zipper, now)
		l.makeRoom(l.cfg.MaxMaps - 1)
		l.shows[showing] = s
		// First the channel, then the load: what happens in between is asked for when the
		// subscription is confirmed.
		if l.listener != nil {
			l.listener.want(DeltaChannel(l.cfg.Prefix, showing))
		}
		l.queue.add(s)
	}
	if m != nil {
		s.join(m)
	} else {
		s.touch(now)
	}
	return s, nil
}

// wait waits for the first load.
func (l *Live) wait(ctx context.Context, s *show) error {
	select {
	case <-s.ready:
		return s.failure()
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return ErrClosed
	}
}

func (l *Live) find(showing uuid.UUID) *show {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shows[showing]
}

// makeRoom drops maps that nobody has open, the longest unused first, until there are at most limit.
// The caller holds mu.
func (l *Live) makeRoom(limit int) {
	for len(l.shows) > limit {
		var oldest *show
		var since time.Time
		for _, s := range l.shows {
			at, idle := s.idle()
			if idle && (oldest == nil || at.Before(since)) {
				oldest, since = s, at
			}
		}
		if oldest == nil {
			return
		}
		l.forget(oldest)
	}
}

// forget stops following a show. The caller holds mu.
func (l *Live) forget(s *show) {
	if l.shows[s.id] != s {
		return
	}
	delete(l.shows, s.id)
	if l.listener != nil {
		l.listener.drop(DeltaChannel(l.cfg.Prefix, s.id))
	}
}

// message takes one message from Redis.
func (l *Live) message(ctx context.Context, channel, payload string) {
	switch channel {
	case HintChannel(l.cfg.Prefix):
		l.takeHint(ctx, payload)
	case BookingsChannel(l.cfg.Prefix):
		l.takeBookings(ctx, payload)
	default:
		l.takeDelta(ctx, channel, payload)
	}
}

func (l *Live) takeHint(ctx context.Context, payload string) {
	showing, seq, err := DecodeHint(payload)
	if err != nil {
		l.badMessages.report(ctx, HintChannel(l.cfg.Prefix), err)
		return
	}
	if s := l.find(showing); s != nil {
		l.expect(s, seq)
	}
}

// expect gives the leader's delta a moment; then the log is asked.
func (l *Live) expect(s *show, seq int64) {
	if !s.hint(seq) {
		return
	}
	select {
	case l.graces <- grace{show: s, over: time.Now().Add(l.cfg.HintGrace)}:
	default:
		// Too many at once: the next comparison of heads finds it.
		s.graceOver()
	}
}

func (l *Live) takeBookings(ctx context.Context, payload string) {
	m, err := decodeBookings(payload)
	if err != nil {
		l.badMessages.report(ctx, BookingsChannel(l.cfg.Prefix), err)
		return
	}
	l.announce(ctx, m.Log, m.Events)
}

func (l *Live) takeDelta(ctx context.Context, channel, payload string) {
	id := strings.TrimSuffix(strings.TrimPrefix(channel, l.cfg.Prefix+"{"), "}:delta")
	showing, err := uuid.Parse(id)
	if err != nil {
		return
	}
	s := l.find(showing)
	if s == nil {
		return
	}
	m, err := decodeDelta(showing, payload)
	if err != nil {
		l.badMessages.report(ctx, channel, err)
		l.queue.add(s)
		return
	}
	l.counts.deltas.Add(1)
	if _, at, ok := s.position(); ok && len(m.Events) == 0 && at.Seq < m.Seq {
		l.queue.add(s)
		return
	}
	if out := l.apply(ctx, s, m.Log, m.Events); out.behind || out.diverged {
		l.queue.add(s)
	}
}

// apply takes a show further, and tells of the bookings that changed with it.
func (l *Live) apply(ctx context.Context, s *show, log string, events []eventstore.Event) outcome {
	out := s.apply(log, events)
	if out.err != nil {
		l.badMessages.report(ctx, "event:"+s.id.String(), out.err)
	}
	if len(out.applied) > 0 {
		l.announce(ctx, out.log, out.applied)
	}
	return out
}

// announce tells of bookings that changed.
func (l *Live) announce(ctx context.Context, log string, events []eventstore.Event) {
	for _, e := range events {
		if !isBooking(e) {
			continue
		}
		b, err := booking.Read(e, l.Now())
		if err != nil {
			l.badMessages.report(ctx, "event:"+e.Stream.String(), err)
			continue
		}
		l.herald.tell(log, b)
	}
}
