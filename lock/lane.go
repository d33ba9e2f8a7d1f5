package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	errTooLate   = errors.New("no answer in time")
	errQueueFull = errors.New("the queue is full")
	errResting   = errors.New("the server does not answer, and is asked again only now and then")
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
		return nil, context.Cause(ctx)
	}
}

// lane finds the lane of the key's server. Servers come and go in a Cluster; a lane without work whose
// server did not fail is dropped, so that there are never many more lanes than servers.
func (s *lanes) lane(ctx context.Context, key string) (*lane, error) {
	if s.router == nil {
		return s.named(routing), nil
	}
	way := s.named(routing)
	if !way.breaker.allow(time.Now()) {
		return nil, errResting
	}
	server, err := s.router.MasterForKey(ctx, key)
	way.breaker.report(err == nil, time.Now())
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
	made := &lane{client: s.client, cfg: s.cfg, breaker: breaker{every: s.cfg.ProbeEvery}}
	s.byAddr[addr] = made
	return made
}

// call is one run of a script that a caller waits for.
type call struct {
	script *script
	key    string
	args   []any
	// waiting ends when the caller no longer waits; what has not been sent by then never is.
	waiting context.Context //nolint:containedctx // a call is the caller's request on its way, and lives no longer.

	// reply and err are set before done is closed.
	reply any
	err   error
	done  chan struct{}
}

func (c *call) finish(reply any, err error) {
	c.reply, c.err = reply, err
	close(c.done)
}

// lane gathers the calls to one server: while one pipeline is under way the next one fills. No call
// waits for company, and none waits behind more than one round trip of others' unless MaxBatch is hit.
type lane struct {
	client  Client
	cfg     Config
	breaker breaker

	mu     sync.Mutex
	queue  []*call
	flying bool
}

func (n *lane) idle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.flying
}

// submit queues a call. The goroutine that sends it belongs to the lane's queue, not to the caller,
// and ends when the queue is empty.
func (n *lane) submit(ctx context.Context, c *call) error {
	if !n.breaker.allow(time.Now()) {
		return errResting
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= n.cfg.MaxQueue {
		return errQueueFull
	}
	n.queue = append(n.queue, c)
	if !n.flying {
		n.flying = true
		go n.fly(context.WithoutCancel(ctx))
	}
	return nil
}

func (n *lane) fly(ctx context.Context) {
	for {
		batch := n.next()
		if len(batch) == 0 {
			return
		}
		n.flush(ctx, batch)
	}
}

// next takes what is to travel next; the lane comes to rest when that is nothing.
func (n *lane) next() []*call {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) <= n.cfg.MaxBatch {
		batch := n.queue
		n.queue = nil
		n.flying = len(batch) > 0
		return batch
	}
	batch := n.queue[:n.cfg.MaxBatch:n.cfg.MaxBatch]
	n.queue = n.queue[n.cfg.MaxBatch:]
	return batch
}

// flush sends a batch in one pipeline and gives each call its reply. Scripts that the server has not
// seen, or has forgotten, are sent again in full.
func (n *lane) flush(ctx context.Context, batch []*call) {
	ctx, cancel := context.WithTimeoutCause(ctx, n.cfg.Timeout, errTooLate)
	defer cancel()
	batch = dropAbandoned(batch)
	if len(batch) == 0 {
		return
	}
	commands := n.send(ctx, batch, false)
	var unknown []*call
	answered := false
	for i, c := range batch {
		reply, err := commands[i].Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			unknown = append(unknown, c)
			continue
		}
		answered = answered || err == nil
		c.finish(reply, err)
	}
	if len(unknown) > 0 {
		for i, command := range n.send(ctx, unknown, true) {
			reply, err := command.Result()
			answered = answered || err == nil
			unknown[i].finish(reply, err)
		}
	}
	n.breaker.report(answered, time.Now())
}

func dropAbandoned(batch []*call) []*call {
	kept := make([]*call, 0, len(batch))
	for _, c := range batch {
		if c.waiting.Err() != nil {
			c.finish(nil, errTooLate)
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

func (n *lane) send(ctx context.Context, batch []*call, inFull bool) []*redis.Cmd {
	pipe := n.client.Pipeline()
	commands := make([]*redis.Cmd, len(batch))
	for i, c := range batch {
		if inFull {
			commands[i] = pipe.Eval(ctx, c.script.source, []string{c.key}, c.args...)
		} else {
			commands[i] = pipe.EvalSha(ctx, c.script.sha, []string{c.key}, c.args...)
		}
	}
	// Each command carries its own error, and that of the pipeline as a whole.
	_, err := pipe.Exec(ctx)
	if err != nil {
		markUnsent(commands, err)
	}
	return commands
}

// markUnsent makes sure that a pipeline that failed as a whole leaves no command that looks answered.
func markUnsent(commands []*redis.Cmd, err error) {
	for _, command := range commands {
		if command.Err() == nil && command.Val() == nil {
			command.SetErr(err)
		}
	}
}
