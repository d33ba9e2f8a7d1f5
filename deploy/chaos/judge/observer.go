package judge

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	// lookEvery is how often the snapshots are looked at, and findEvery how often new ones are looked for.
	lookEvery = 200 * time.Millisecond
	findEvery = 2 * time.Second
	// lookTime bounds one look, and hearTime how long a silent line is believed to be alive.
	lookTime = time.Second
	hearTime = 2 * time.Second
	// againAfter is the pause before a lost subscription is made anew.
	againAfter = 50 * time.Millisecond
	// mostLooked is how many showings' snapshots are looked at; the messages of all are heard.
	mostLooked = 256
)

// Observer looks on at what is projected into Redis: it hears every message, and looks at the snapshots. It claims
// nothing about what it did not see. It is safe for concurrent use.
type Observer struct {
	client redis.UniversalClient
	prefix string

	messages atomic.Int64
	end      context.CancelFunc
	done     errgroup.Group
	ready    chan struct{}
	readied  sync.Once

	// texts makes the hashes of messages.
	texts maphash.Seed

	mu       sync.Mutex
	f        findings
	showings map[uuid.UUID]*projected
	// resets counts Reset: what was asked before one is not taken for an answer after it.
	resets int
}

// Observe begins to look on, until Close or ctx ends. The namespace is the servers': what stands before the colon in
// their keys. The client stays the caller's, and may be of one server, by Sentinel, or of a Cluster.
func Observe(ctx context.Context, client redis.UniversalClient, namespace string) *Observer {
	ctx, end := context.WithCancel(ctx)
	o := &Observer{
		client: client, prefix: namespace + ":", end: end,
		texts: maphash.MakeSeed(), ready: make(chan struct{}), showings: map[uuid.UUID]*projected{},
	}
	o.done.Go(func() error { o.hearOn(ctx); return nil })
	o.done.Go(func() error { o.lookOn(ctx); return nil })
	return o
}

// Ready is closed once the first subscription is there.
func (o *Observer) Ready() <-chan struct{} { return o.ready }

// Reset says that Redis lost data, failed over or had its clock set, or that the log was replaced by an earlier one:
// what was seen before says nothing about what follows. What was found stays.
func (o *Observer) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resets++
	for id := range o.showings {
		o.showings[id] = newProjected(id)
	}
}

// Messages is how many deltas were heard.
func (o *Observer) Messages() int64 { return o.messages.Load() }

// Violations are those seen so far.
func (o *Observer) Violations() []Violation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.f.all()
}

// Close ends it.
func (o *Observer) Close() {
	o.end()
	_ = o.done.Wait()
}

// showing is what was seen of one; the caller holds o.mu.
func (o *Observer) showing(id uuid.UUID) *projected {
	p, ok := o.showings[id]
	if !ok {
		p = newProjected(id)
		o.showings[id] = p
	}
	return p
}

// hearOn hears messages, and subscribes anew whenever the line is lost.
func (o *Observer) hearOn(ctx context.Context) {
	for ctx.Err() == nil {
		o.hear(ctx)
		pause(ctx, againAfter)
	}
}

// hear hears one subscription's messages until its line is lost.
func (o *Observer) hear(ctx context.Context) {
	subscription := o.client.PSubscribe(ctx, deltaPattern(o.prefix))
	closing := sync.OnceFunc(func() { _ = subscription.Close() })
	defer closing()
	defer context.AfterFunc(ctx, closing)()
	for silent := false; ; {
		got, err := subscription.ReceiveTimeout(ctx, hearTime)
		switch {
		case err != nil && (silent || !timedOut(err) || subscription.Ping(ctx) != nil):
			return
		case err != nil:
			silent = true
			continue
		}
		silent = false
		switch got := got.(type) {
		case *redis.Subscription:
			o.readied.Do(func() { close(o.ready) })
		case *redis.Message:
			o.heard(got.Channel, got.Payload, time.Now())
		}
	}
}

func (o *Observer) heard(channel, payload string, at time.Time) {
	id, ok := showingOf(o.prefix, channel, "delta")
	if !ok {
		return
	}
	o.messages.Add(1)
	d, err := decodeDelta(id, payload)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.f.add(ProjectedOnce, "showing %s: a message that can't be read: %v", id, err)
		return
	}
	d.Events = nil
	o.showing(id).hear(&o.f, message{delta: d, hash: maphash.String(o.texts, payload), at: at})
}

// lookOn looks at the snapshots, again and again.
func (o *Observer) lookOn(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var found time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if time.Since(found) >= findEvery {
			o.find(ctx)
			found = time.Now()
		}
		o.look(ctx)
	}
}

// known are the showings that are looked at, and how many resets there have been.
func (o *Observer) known() (showings []uuid.UUID, resets int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]uuid.UUID, 0, len(o.showings))
	for id := range o.showings {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return all[:min(len(all), mostLooked)], o.resets
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
