package seatmap

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	// listenerPing is how long the line may be silent before it is asked whether it lives, and as long
	// again before it is taken for dead.
	listenerPing = 2 * time.Second
	// listenerBackoff is the pause before a lost line is made anew.
	listenerBackoff = 200 * time.Millisecond
)

// listener is one pub/sub connection for many channels. A lost line is made anew with all channels that
// are wanted by then; what was published meanwhile is lost, and ready says so for each channel.
type listener struct {
	client redis.UniversalClient
	// message is called for each message, ready when a channel was subscribed to, again after each
	// loss. Both are called by one goroutine and must not block.
	message func(ctx context.Context, channel, payload string)
	ready   func(channel string)
	outage  *outage

	wake chan struct{}
	up   atomic.Bool

	mu     sync.Mutex
	wanted map[string]bool
}

func newListener(
	client redis.UniversalClient, logger *slog.Logger,
	message func(ctx context.Context, channel, payload string), ready func(channel string),
) *listener {
	return &listener{
		client: client, message: message, ready: ready,
		outage: &outage{logger: logger, what: "redis' channels can't be heard"},
		wake:   make(chan struct{}, 1),
		wanted: map[string]bool{},
	}
}

// want adds a channel, drop takes it away. Neither waits for Redis.
func (l *listener) want(channel string) { l.set(channel, true) }
func (l *listener) drop(channel string) { l.set(channel, false) }

func (l *listener) set(channel string, wanted bool) {
	l.mu.Lock()
	if wanted {
		l.wanted[channel] = true
	} else {
		delete(l.wanted, channel)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *listener) channels() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	channels := make(map[string]bool, len(l.wanted))
	for c := range l.wanted {
		channels[c] = true
	}
	return channels
}

// run listens until ctx ends, then returns nil.
func (l *listener) run(ctx context.Context) error {
	for {
		err := l.listen(ctx)
		l.up.Store(false)
		l.outage.report(ctx, err)
		if !pause(ctx, listenerBackoff) {
			return nil
		}
	}
}

// listen is the life of one line.
func (l *listener) listen(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	// Receive doesn't notice the end of a context; closing the line does it.
	line := l.client.Subscribe(ctx)
	stop := context.AfterFunc(ctx, func() { _ = line.Close() })
	defer func() {
		stop()
		_ = line.Close()
	}()
	group.Go(func() error { return l.subscribe(ctx, line) })
	group.Go(func() error { return l.receive(ctx, line) })
	return group.Wait()
}

// subscribe keeps the line's channels those that are wanted.
func (l *listener) subscribe(ctx context.Context, line *redis.PubSub) error {
	have := map[string]bool{}
	for {
		want := l.channels()
		more := slices.DeleteFunc(keysOf(want), func(c string) bool { return have[c] })
		less := slices.DeleteFunc(keysOf(have), func(c string) bool { return want[c] })
		if len(more) > 0 {
			if err := line.Subscribe(ctx, more...); err != nil {
				return err
			}
		}
		if len(less) > 0 {
			if err := line.Unsubscribe(ctx, less...); err != nil {
				return err
			}
		}
		have = want
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
		}
	}
}

func (l *listener) receive(ctx context.Context, line *redis.PubSub) error {
	asked := false
	for {
		m, err := line.ReceiveTimeout(ctx, listenerPing)
		var timeout net.Error
		switch {
		case err == nil:
			asked = false
			l.dispatch(ctx, m)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &timeout) && timeout.Timeout() && !asked:
			asked = true
			if err := line.Ping(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (l *listener) dispatch(ctx context.Context, m any) {
	switch m := m.(type) {
	case *redis.Message:
		l.message(ctx, m.Channel, m.Payload)
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			l.up.Store(true)
			l.outage.report(ctx, nil)
			l.ready(m.Channel)
		}
	}
}

func keysOf(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	return keys
}
