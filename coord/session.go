package coord

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// session is one lease of this replica. It is over when the lease can have ended by anyone's clock.
//
// The client library's own keepalive says when an answer came, not when the question left; an answer that was
// held up would make the lease look younger than it is. So we ask ourselves, and count from the question.
type session struct {
	client *clientv3.Client
	lease  clientv3.LeaseID
	ttl    time.Duration
	margin time.Duration
	// asked is when the last confirmed keepalive was sent, after born, by the monotonic clock.
	born  time.Time
	asked atomic.Int64
	// over is closed when the session has ended.
	over chan struct{}

	mu sync.Mutex
	// uses is how many candidatures rest on the lease; idle is closed when the session has ended and none does.
	uses int
	idle chan struct{}
}

// enter has a candidature rest on the session until leave; false when the session has ended.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return false
	}
	s.uses++
	return true
}

func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	if s.uses == 0 && s.ended() {
		close(s.idle)
	}
}

// end ends the session; what rests on it hears of that by over.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.over)
	if s.uses == 0 {
		close(s.idle)
	}
}

func (s *session) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// remaining is for how long the lease is certain to last; 0 or less when it isn't.
func (s *session) remaining() time.Duration {
	if s.ended() {
		return 0
	}
	return s.ttl - s.margin - (time.Since(s.born) - time.Duration(s.asked.Load()))
}

// keepSession makes a session, and another when it is lost, until ctx ends.
func (c *Coord) keepSession(ctx context.Context, client *clientv3.Client) error {
	pause := newPause(c.cfg.TTL)
	lost := false
	for ctx.Err() == nil {
		s, err := c.open(ctx, client)
		if err != nil {
			if ctx.Err() == nil && !lost {
				c.cfg.Logger.WarnContext(ctx, "etcd can't be reached; going on without", slog.Any("error", err))
			}
			lost = true
			pause.wait(ctx)
			continue
		}
		if lost {
			c.cfg.Logger.InfoContext(ctx, "etcd is back")
		}
		lost = false
		pause.reset()
		c.setSession(s)
		reason := keepAlive(ctx, s)
		left := s.remaining()
		c.setSession(nil)
		s.end()
		s.giveBack(ctx, left)
		if ctx.Err() == nil {
			c.cfg.Logger.WarnContext(ctx, "the lease in etcd is lost", slog.Any("error", reason))
			lost = true
		}
	}
	return nil
}

func (c *Coord) open(ctx context.Context, client *clientv3.Client) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.TTL)
	defer cancel()
	born := time.Now()
	granted, err := client.Grant(ctx, int64(c.cfg.TTL/time.Second))
	if err != nil {
		return nil, err
	}
	// etcd may grant more than was asked; it never grants less.
	ttl := time.Duration(granted.TTL) * time.Second
	return &session{
		client: client, lease: granted.ID, ttl: ttl, margin: ttl / marginPart, born: born,
		over: make(chan struct{}), idle: make(chan struct{}),
	}, nil
}

const (
	// marginPart of the TTL is kept back for clocks that run at different speeds and for what a holder
	// still has under way when its time is up.
	marginPart = 10
	// keepAlives are sent within one TTL.
	keepAlives = 5
	// retries are made within one TTL when keepalives fail.
	retries = 20
)

// errNotConfirmed ends a session whose lease etcd hasn't confirmed for too long.
var errNotConfirmed = errors.New("coord: etcd did not confirm the lease in time")

// keepAlive confirms the lease until ctx ends or the lease can't be relied on, and says why.
func keepAlive(ctx context.Context, s *session) error {
	for {
		left := s.remaining()
		if left <= 0 {
			return errNotConfirmed
		}
		asked := time.Since(s.born)
		err := s.confirm(ctx, left)
		wait := s.ttl / keepAlives
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			return err
		case err != nil:
			wait = s.ttl / retries
		default:
			s.asked.Store(int64(asked))
		}
		sleep(ctx, min(wait, s.remaining()))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// confirm asks etcd once to keep the lease, for as long as the answer is of use. (The client library's
// KeepAliveOnce asks again at once while etcd can't be reached, and so burns a processor until its context ends.)
func (s *session) confirm(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, min(left, s.ttl/2))
	defer cancel()
	stream, err := clientv3.RetryLeaseClient(s.client).LeaseKeepAlive(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(s.lease)}); err != nil {
		return err
	}
	answer, err := stream.Recv()
	if err != nil {
		return rpctypes.Error(err)
	}
	if answer.TTL <= 0 {
		return rpctypes.ErrLeaseNotFound
	}
	return nil
}

// giveBack ends the lease, as far as etcd can be reached: what belongs to it goes at once. It waits, while the lease
// is certain, until no term rests on it: nobody else leads before this replica has stopped.
func (s *session) giveBack(ctx context.Context, left time.Duration) {
	ctx = context.WithoutCancel(ctx)
	finished, cancel := context.WithTimeout(ctx, max(left, 0))
	defer cancel()
	select {
	case <-s.idle:
	case <-finished.Done():
	}
	ctx, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = s.client.Revoke(ctx, s.lease)
}

// pause grows between attempts, from a tenth of a second.
type pause struct{ next, most time.Duration }

func newPause(most time.Duration) *pause { return &pause{next: firstPause, most: most} }

const firstPause = 100 * time.Millisecond

func (p *pause) reset() { p.next = firstPause }

// wait ends early when ctx does.
func (p *pause) wait(ctx context.Context) {
	next := p.next
	p.next = min(2*p.next, p.most)
	sleep(ctx, next)
}

// sleep ends early when ctx does.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
