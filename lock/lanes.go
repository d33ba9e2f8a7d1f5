package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// router is the part of a Cluster client that knows which server has a key.
type router interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// routing is the lane that stands for finding a key's server; it carries no calls of its own. A client
// of a single server has one lane, of that name.
const routing = ""

// lanes has one lane for each Redis server, so that one that is slow or gone holds up only the
// showings that live there.
type lanes struct {
	client Client
	router router
	cfg    Config

	mu     sync.Mutex
	byAddr map[string]*lane
}

func newLanes(client Client, cfg Config) *lanes {
	router, _ := client.(router)
	return &lanes{client: client, router: router, cfg: cfg, byAddr: map[string]*lane{}}
}

// do has a script run in the lane of the key's server, and waits for the reply until ctx ends.
func (s *lanes) do(ctx context.Context, script *script, key string, args []any) (any, error) {
	lane, err := s.lane(ctx, key)
	if err != nil {
		return nil, err
	}
	c := &call{script: script, key: key, args: args, waiting: ctx, done: make(chan struct{})}
	if err := lane.submit(ctx, c); err != nil {
		return nil, err
	}
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		err := context.Cause(ctx)
		if errors.Is(err, errTooLate) {
			// The pipeline that carries the call may take longer still to find out.
			lane.breaker.report(err, time.Now())
		}
		return nil, err
	}
}

// lane finds the lane of the key's server. Servers come and go in a Cluster; a lane without work whose
// server did not fail is dropped, so that there are never many more lanes than servers.
func (s *lanes) lane(ctx context.Context, key string) (*lane, error) {
	if s.router == nil {
		return s.named(routing), nil
	}
	way := s.named(routing)
	if err := way.breaker.allow(time.Now()); err != nil {
		return nil, err
	}
	server, err := s.router.MasterForKey(ctx, key)
	way.breaker.report(err, time.Now())
	if err != nil {
		return nil, err
	}
	return s.named(server.Options().Addr), nil
}

// maxIdleLanes is when lanes without work are looked for and dropped.
const maxIdleLanes = 64

func (s *lanes) named(addr string) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.byAddr[addr]; ok {
		return found
	}
	if len(s.byAddr) >= maxIdleLanes {
		for other, lane := range s.byAddr {
			if other != routing && lane.idle() {
				delete(s.byAddr, other)
			}
		}
	}
	made := &lane{client: s.client, cfg: s.cfg, breaker: breaker{every: s.cfg.ProbeEvery, timeout: s.cfg.Timeout}}
	s.byAddr[addr] = made
	return made
}

func (s *lanes) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, lane := range s.byAddr {
		lane.mu.Lock()
		total += len(lane.queue)
		lane.mu.Unlock()
	}
	return total
}
