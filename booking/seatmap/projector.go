package seatmap

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/eventstore"
)

// ProjectorLog is what the Projector needs of the event log; *eventstore.Store is one.
type ProjectorLog interface {
	Log
	// Follower delivers the events of all open streams to a handler, in order, from its cursors on.
	Follower(
		cfg eventstore.FollowerConfig, cursors eventstore.Cursors, handler eventstore.Handler,
	) *eventstore.Follower
}

// Term is one time of being the leader.
type Term struct {
	// Epoch orders the terms: a later one's is higher.
	Epoch int64
	// Remaining is what is left of the lease: nobody else can lead before it has passed. Snapshots
	// live that long.
	Remaining func() time.Duration
}

// Projector makes, on the leader, the snapshots and deltas of all open showings of the log's events.
// See the package's description.
type Projector struct {
	cfg     ProjectorConfig
	log     ProjectorLog
	redis   redis.UniversalClient
	layouts Layouts
	bad     *badOnce
}

// NewProjector makes a Projector; it works while Run runs. Without Redis (nil) it only sweeps and sums up.
// The client should heed contexts' deadlines (ContextTimeoutEnabled) and have a read timeout: a Redis
// that hangs holds up the end of Run for that long.
func NewProjector(
	cfg ProjectorConfig, log ProjectorLog, client redis.UniversalClient, layouts Layouts,
) (*Projector, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Projector{
		cfg: cfg, log: log, redis: client, layouts: layouts,
		bad: &badOnce{logger: cfg.Logger, what: "a snapshot or event can't be used"},
	}, nil
}

// Run leads for one term. It ends at once with ctx, the term's context, and returns nil then;
// ErrSuperseded when Redis has seen a later term, even though ctx has not ended. It may run again for
// another term, after it has returned.
func (p *Projector) Run(ctx context.Context, term Term) error {
	group, inner := errgroup.WithContext(ctx)
	r := newReign(p, term)
	follower := p.log.Follower(eventstore.FollowerConfig{Logger: p.cfg.Logger}, r, r)
	group.Go(func() error { return follower.Run(inner) })
	if p.redis != nil {
		group.Go(func() error { return p.hear(inner, follower) })
		group.Go(func() error { return r.refresh(inner) })
	}
	group.Go(func() error { return r.sweep(inner) })
	group.Go(func() error {
		select {
		case <-inner.Done():
			return nil
		case <-r.superseded:
			return ErrSuperseded
		}
	})
	err := group.Wait()
	if ctx.Err() != nil && !errors.Is(err, ErrSuperseded) {
		return nil
	}
	return err
}

// hear passes on hints to the follower.
func (p *Projector) hear(ctx context.Context, follower *eventstore.Follower) error {
	l := newListener(p.redis, p.cfg.Logger, func(_ context.Context, _, payload string) {
		// Live, which hears the same hints, reports those that make no sense.
		if showing, seq, err := DecodeHint(payload); err == nil {
			follower.Hint(showing, seq)
		}
	}, func(string) {})
	l.want(HintChannel(p.cfg.Prefix))
	return l.run(ctx)
}
