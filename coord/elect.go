package coord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Elect runs for the named office until ctx ends, and calls lead for each term won. The term's context ends
// before the lease can have ended by anyone's clock; lead must return soon after. When lead returns earlier, the
// office is given up, and this replica runs again. Elect returns nil when ctx has ended. One Elect at a time runs for
// an office.
func (c *Coord) Elect(ctx context.Context, name string, lead func(term context.Context, t Term) error) error {
	pause := newPause(c.cfg.TTL)
	for ctx.Err() == nil {
		s := c.awaitSession(ctx)
		if s == nil {
			return nil
		}
		started := time.Now()
		if err := c.runFor(ctx, s, name, lead); err != nil {
			c.cfg.Logger.WarnContext(ctx, "a term or candidature ended", slog.String("office", name), slog.Any("error", err))
		}
		if time.Since(started) > c.cfg.TTL {
			pause.reset()
		}
		pause.wait(ctx)
	}
	return nil
}

// errTermOver is the cause of a term's end that isn't ctx's.
var errTermOver = errors.New("coord: the lease is no longer certain")

// runFor is one candidature with one session, and the term if it is won.
func (c *Coord) runFor(ctx context.Context, s *session, name string, lead func(context.Context, Term) error) error {
	if !s.enter() {
		return nil
	}
	defer s.leave()
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	stop := afterClosed(s.over, func() { end(errTermOver) })
	defer stop()

	ballot, err := c.stand(term, s, name)
	if err != nil {
		return unlessOver(term, err)
	}
	defer ballot.withdraw(ctx)
	if err := ballot.awaitTurn(term); err != nil {
		return unlessOver(term, err)
	}
	t := Term{Epoch: ballot.epoch, TTL: s.ttl, Remaining: s.remaining}
	c.summaries.begin(t.Epoch, ballot.key)
	defer c.summaries.end(t.Epoch)
	return unlessOver(term, lead(term, t))
}

// unlessOver drops errors that the term's end explains.
func unlessOver(term context.Context, err error) error {
	select {
	case <-term.Done():
		return nil
	default:
		return err
	}
}

// afterClosed runs f once over is closed, unless stop comes first. stop waits for neither.
func afterClosed(over <-chan struct{}, f func()) (stop func()) {
	stopped := make(chan struct{})
	go func() {
		select {
		case <-over:
			f()
		case <-stopped:
		}
	}()
	return func() { close(stopped) }
}

// ballot is one candidate's key. The oldest key under the office's prefix holds the office.
type ballot struct {
	session *session
	office  string
	key     string
	// epoch is the key's create revision: unique, and higher for each later candidate.
	epoch int64
}

// stand writes the ballot, bound to the session's lease.
func (c *Coord) stand(ctx context.Context, s *session, name string) (*ballot, error) {
	office := c.offices.root + name + "/"
	b := &ballot{session: s, office: office, key: office + strconv.FormatInt(int64(s.lease), 16)}
	absent := clientv3.Compare(clientv3.CreateRevision(b.key), "=", 0)
	answer, err := s.client.Txn(ctx).If(absent).
		Then(clientv3.OpPut(b.key, c.cfg.ID, clientv3.WithLease(s.lease))).
		Else(clientv3.OpGet(b.key)).Commit()
	if err != nil {
		return nil, fmt.Errorf("coord: stand for %s: %w", name, err)
	}
	b.epoch = answer.Header.Revision
	if !answer.Succeeded {
		// An earlier attempt of this session got through, though its answer was lost.
		b.epoch = answer.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}
	return b, nil
}

// awaitTurn returns nil once every older ballot is gone while this one is still there.
func (b *ballot) awaitTurn(ctx context.Context) error {
	for {
		rival, revision, err := b.olderRival(ctx)
		if err != nil {
			return err
		}
		if rival == "" {
			return b.stillStanding(ctx)
		}
		if err := b.awaitGone(ctx, rival, revision); err != nil {
			return err
		}
	}
}

// olderRival is the youngest of the older ballots: waiting for that one alone wakes one candidate at a time.
func (b *ballot) olderRival(ctx context.Context) (key string, revision int64, err error) {
	answer, err := b.session.client.Get(ctx, b.office, append(clientv3.WithLastCreate(),
		clientv3.WithMaxCreateRev(b.epoch-1), clientv3.WithKeysOnly())...)
	if err != nil {
		return "", 0, fmt.Errorf("coord: read the ballots: %w", err)
	}
	if len(answer.Kvs) == 0 {
		return "", 0, nil
	}
	return string(answer.Kvs[0].Key), answer.Header.Revision, nil
}

// awaitGone returns nil when the rival is gone, or might be: the caller reads the ballots again.
func (b *ballot) awaitGone(ctx context.Context, rival string, revision int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for answer := range b.session.client.Watch(ctx, rival, clientv3.WithRev(revision+1)) {
		if answer.CompactRevision != 0 {
			return nil
		}
		if err := answer.Err(); err != nil {
			return fmt.Errorf("coord: watch a rival: %w", err)
		}
		for _, event := range answer.Events {
			if event.Type == mvccpb.Event_DELETE {
				return nil
			}
		}
	}
	return ctx.Err()
}

// errBallotGone: the lease ended while this replica was waiting, so it doesn't lead.
var errBallotGone = errors.New("coord: the own ballot is gone")

// stillStanding reads the own ballot once more: a candidate whose lease ended while it waited must not believe
// that it leads just because nobody older is there.
func (b *ballot) stillStanding(ctx context.Context) error {
	answer, err := b.session.client.Get(ctx, b.key)
	if err != nil {
		return fmt.Errorf("coord: read the own ballot: %w", err)
	}
	if len(answer.Kvs) != 1 || answer.Kvs[0].CreateRevision != b.epoch || b.session.remaining() <= 0 {
		return errBallotGone
	}
	return nil
}

// withdraw removes the ballot, so that the next candidate need not wait for the lease's end.
func (b *ballot) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	own := clientv3.Compare(clientv3.CreateRevision(b.key), "=", b.epoch)
	_, _ = b.session.client.Txn(ctx).If(own).Then(clientv3.OpDelete(b.key)).Commit()
}
