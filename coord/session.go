package coord

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

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
}

// remaining is for how long the lease is certain to last; 0 or less when it isn't.
func (s *session) remaining() time.Duration {
	select {
	case <-s.over:
		return 0
	default:
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
		reason := c.keepAlive(ctx, s)
		close(s.over)
		c.setSession(nil)
		c.giveBack(ctx, s)
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
		client: client, lease: granted.ID, ttl: ttl, margin: ttl / marginPart, born: born, over: make(chan struct{}),
	}, nil
}

const (
	// marginPart of the TTL is kept back for clocks that run at different speeds and for what a holder
	// still has under way when its time is up.
	marginPart = 10
	// keepAlives are sent within one TTL.
	keepAlives = 5
)

// errNotConfirmed ends a session whose lease etcd hasn't confirmed for too long.
var errNotConfirmed = errors.New("coord: etcd did not confirm the lease in time")

// keepAlive confirms the lease until ctx ends or the lease can't be relied on, and says why.
func (c *Coord) keepAlive(ctx context.Context, s *session) error {
	tick := time.NewTicker(s.ttl / keepAlives)
	defer tick.Stop()
	for {
		left := s.remaining()
		if left <= 0 {
			return errNotConfirmed
		}
		asked := time.Since(s.born)
		if err := s.confirm(ctx, left); err == nil {
			s.asked.Store(int64(asked))
		} else if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return err
		}
		end := time.NewTimer(s.remaining())
		select {
		case <-ctx.Done():
			end.Stop()
			return ctx.Err()
		case <-end.C:
		case <-tick.C:
			end.Stop()
		}
	}
}

// confirm asks etcd once to keep the lease, for as long as the answer is of use.
func (s *session) confirm(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, min(left, s.ttl/2))
	defer cancel()
	answer, err := s.client.KeepAliveOnce(ctx, s.lease)
	if err == nil && answer.TTL <= 0 {
		return rpctypes.ErrLeaseNotFound
	}
	return err
}

// giveBack ends the lease, as far as etcd can be reached: what belongs to it goes at once.
func (c *Coord) giveBack(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
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
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(2*p.next, p.most)
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
