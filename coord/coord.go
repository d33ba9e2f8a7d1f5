package coord

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Coord is one replica's place in the house: its registration, its view of the others, its part in
// elections. It is safe for concurrent use.
type Coord struct {
	cfg       Config
	registry  *registry
	offices   *offices
	summaries *Summaries
	alarm     atomic.Bool

	mu      sync.Mutex
	session *session
	// changed is closed, and replaced, whenever session changes.
	changed chan struct{}
}

// New makes a Coord; it never waits for etcd. The error says what is wrong with the config.
func New(cfg Config) (*Coord, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Coord{
		cfg: cfg, registry: newRegistry(cfg), offices: newOffices(cfg), summaries: newSummaries(cfg),
		changed: make(chan struct{}),
	}, nil
}

// Run keeps the lease, the registration and the watches until ctx ends, then gives the lease back, so that
// nothing of this replica stays in etcd. Without etcd it keeps trying. It runs once.
func (c *Coord) Run(ctx context.Context) error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.cfg.Endpoints, DialTimeout: c.cfg.TTL, Logger: zap.NewNop(),
		DialKeepAliveTime: c.cfg.TTL, DialKeepAliveTimeout: c.cfg.TTL / 2,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(connectParams(c.cfg.TTL))},
	})
	if err != nil {
		return fmt.Errorf("coord: etcd client: %w", err)
	}
	defer func() { _ = client.Close() }()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.keepSession(ctx, client) })
	group.Go(func() error { return c.register(ctx) })
	group.Go(func() error { return c.summaries.write(ctx, c) })
	group.Go(func() error { return c.upkeep(ctx, client) })
	for _, watched := range []follower{c.registry, c.offices, c.summaries} {
		group.Go(func() error { return follow(ctx, client, watched, c.cfg) })
	}
	return group.Wait()
}

// connectParams have etcd found again soon after it is back: without them the pauses between attempts grow to two
// minutes.
func connectParams(ttl time.Duration) grpc.ConnectParams {
	pauses := backoff.DefaultConfig
	pauses.BaseDelay, pauses.MaxDelay = firstPause, time.Second
	return grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: ttl}
}

// Connected says whether etcd confirmed this replica's lease within its TTL.
func (c *Coord) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil && c.session.remaining() > 0
}

// setSession makes s the present session; nil for none.
func (c *Coord) setSession(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	close(c.changed)
	c.changed = make(chan struct{})
}

// present is the present session, nil for none, and a channel that is closed when another takes its place.
func (c *Coord) present() (*session, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.changed
}

// awaitSession waits for a session that lives; nil when ctx ends.
func (c *Coord) awaitSession(ctx context.Context) *session {
	for {
		s, changed := c.present()
		if s != nil {
			return s
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
