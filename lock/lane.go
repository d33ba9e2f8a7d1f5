package lock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	errTooLate    = errors.New("no answer in time")
	errQueueFull  = errors.New("the queue is full")
	errUnanswered = errors.New("the pipeline left the call unanswered")
)

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
	if err := n.breaker.allow(time.Now()); err != nil {
		return err
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
	if unknown := n.send(ctx, batch, byName); len(unknown) > 0 {
		n.send(ctx, unknown, inFull)
	}
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

// send has a batch run and finishes its calls, but those whose script the server does not know by name. The
// breaker hears of it first: whoever has an answer can rely on the server being there for the next call.
func (n *lane) send(ctx context.Context, batch []*call, run func(context.Context, redis.Pipeliner, *call) *redis.Cmd) (unknown []*call) {
	pipe := n.client.Pipeline()
	commands := make([]*redis.Cmd, len(batch))
	for i, c := range batch {
		commands[i] = run(ctx, pipe, c)
	}
	_, whole := pipe.Exec(ctx)
	n.breaker.report(unlessAnswered(commands, whole), time.Now())
	for i, c := range batch {
		reply, failed := commands[i].Result()
		if failed == nil && reply == nil {
			// No script answers nothing: the pipeline failed before this command.
			failed = cmp.Or(whole, errUnanswered)
		}
		if redis.HasErrorPrefix(failed, "NOSCRIPT") {
			unknown = append(unknown, c)
			continue
		}
		c.finish(reply, failed)
	}
	return unknown
}

// unlessAnswered is the pipeline's error, or nil when the server answered at least one of its commands: to
// say that it does not know a script is an answer, too.
func unlessAnswered(commands []*redis.Cmd, whole error) error {
	for _, command := range commands {
		if reply, err := command.Result(); (err == nil && reply != nil) || redis.HasErrorPrefix(err, "NOSCRIPT") {
			return nil
		}
	}
	return whole
}
