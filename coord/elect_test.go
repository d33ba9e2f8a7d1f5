package coord_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/aislehq/aisle/coord"
)

// A leader that is told to stop resigns: the next one leads long before the lease would have ended, with a higher
// epoch, and when all have gone nothing is left in etcd.
func TestLeaderThatStopsHandsOverAtOnceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	a.Announce(coord.Replica{Address: "http://a"})
	first, resign := a.candidate(t, "leader")
	one := next(t, first, patience)
	require.Positive(t, one.Epoch)
	require.Equal(t, longTTL, one.TTL)
	require.Greater(t, one.Remaining(), longTTL/2)
	second, _ := b.candidate(t, "leader")
	for _, r := range []*replica{a, b} {
		require.Eventually(t, func() bool { id, known := r.Leader("leader"); return known && id == "a" }, patience, tick)
		_, known := r.Leader("another office")
		require.False(t, known)
	}
	a.Summaries().Put("s1", coord.Summary{Left: 7, Seq: 3, Epoch: one.Epoch})
	client := etcd(t, cfg.Endpoints)
	require.Eventually(t, func() bool { return len(keys(t, client, cfg.Prefix+"/showings/")) == 1 }, patience, tick)

	began := time.Now()
	var stopping sync.WaitGroup
	stopping.Go(a.stop)
	stopping.Go(resign)
	two := next(t, second, soon)
	t.Logf("the next one led after %v", time.Since(began))
	require.Greater(t, two.Epoch, one.Epoch)
	stopping.Wait()
	require.Eventually(t, func() bool { id, known := b.Leader("leader"); return known && id == "b" }, patience, tick)

	b.stop()
	over(t, two.ended, "the term of a replica that stopped")
	require.Empty(t, keys(t, client, cfg.Prefix+"/"))
}

// While the old leader's work is not over, nobody else leads, although the old one has been told to stop.
func TestNextLeaderWaitsForTheWorkOfTheOld(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	finish, told := make(chan struct{}), make(chan struct{})
	leading := make(chan struct{})
	var old sync.WaitGroup
	var busy atomic.Bool
	old.Go(func() {
		ctx := t.Context()
		_ = a.Elect(ctx, "leader", func(term context.Context, _ coord.Term) error {
			busy.Store(true)
			close(leading)
			<-term.Done()
			close(told)
			<-finish
			busy.Store(false)
			return nil
		})
	})
	over(t, leading, "the wait for the first leader")
	second, _ := b.candidate(t, "leader")
	require.Eventually(t, func() bool { return len(keys(t, etcd(t, cfg.Endpoints), cfg.Prefix+"/elections/")) == 2 }, patience, tick)
	var stopping sync.WaitGroup
	stopping.Go(a.stop)
	over(t, told, "the old term")
	require.Never(t, func() bool { return len(second) > 0 }, 300*time.Millisecond, tick)
	close(finish)
	next(t, second, soon)
	require.False(t, busy.Load())
	stopping.Wait()
}

// A lead that returns gives up the office, and runs for it again behind those who waited.
func TestLeadThatReturnsGoesBehindTheOthers(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	as, _ := a.candidate(t, "leader")
	one := next(t, as, patience)
	bs, _ := b.candidate(t, "leader")
	client := etcd(t, cfg.Endpoints)
	require.Eventually(t, func() bool { return len(keys(t, client, cfg.Prefix+"/elections/")) == 2 }, patience, tick)
	one.leave <- errors.New("the work failed")
	two := next(t, bs, soon)
	require.Eventually(t, func() bool { return len(keys(t, client, cfg.Prefix+"/elections/")) == 2 }, patience, tick)
	two.leave <- nil
	three := next(t, as, soon)
	require.Less(t, one.Epoch, two.Epoch)
	require.Less(t, two.Epoch, three.Epoch)
}

// The waiter's lease dies while it campaigns, and then the leader goes. The waiter must not believe that it leads
// just because nobody older is there.
func TestWaiterWhoseLeaseDiedDoesNotLead(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	cfg.TTL = 10 * time.Second // its replica hears of its lease's end two seconds later at most
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	as, _ := a.candidate(t, "leader")
	one := next(t, as, patience)
	bs, _ := b.candidate(t, "leader")
	client := etcd(t, cfg.Endpoints)
	elections := cfg.Prefix + "/elections/leader/"
	var leader, waiter *clientv3.GetResponse
	require.Eventually(t, func() bool {
		var err error
		waiter, err = client.Get(t.Context(), elections, clientv3.WithPrefix(), clientv3.WithMinCreateRev(one.Epoch+1))
		return err == nil && len(waiter.Kvs) == 1
	}, patience, tick)
	leader, err := client.Get(t.Context(), elections, clientv3.WithPrefix(), clientv3.WithMaxCreateRev(one.Epoch))
	require.NoError(t, err)
	require.Len(t, leader.Kvs, 1)
	stale := waiter.Kvs[0].CreateRevision

	_, err = client.Revoke(t.Context(), clientv3.LeaseID(waiter.Kvs[0].Lease))
	require.NoError(t, err)
	_, err = client.Delete(t.Context(), string(leader.Kvs[0].Key))
	require.NoError(t, err)
	two := next(t, bs, patience)
	require.Greater(t, two.Epoch, stale, "it leads with a new ballot, and never did with the dead one")
	now, err := client.Get(t.Context(), elections, clientv3.WithPrefix(), clientv3.WithMinCreateRev(two.Epoch))
	require.NoError(t, err)
	require.Len(t, now.Kvs, 1, "the ballot that it leads by is there")
	require.Equal(t, "b", string(now.Kvs[0].Value))
}

// A leader is cut off from etcd, but not from anything else. It stops before its lease has ended, so before anyone
// else can lead.
func TestLeaderCutOffStopsBeforeItsLeaseEnds(t *testing.T) {
	t.Parallel()
	cfg := config(t, "b")
	cfg.TTL = 3 * time.Second
	proxy := behindProxy(t, cfg.Endpoints[0])
	alone := named(cfg, "a")
	alone.Endpoints = []string{"http://" + proxy.Listen}
	a, b := start(t, alone), start(t, cfg)
	as, _ := a.candidate(t, "leader")
	one := next(t, as, patience)
	bs, _ := b.candidate(t, "leader")
	client := etcd(t, cfg.Endpoints)
	require.Eventually(t, func() bool { return len(keys(t, client, cfg.Prefix+"/elections/")) == 2 }, patience, tick)

	cut(t, proxy)
	select {
	case <-one.ended:
	case <-bs:
		require.FailNow(t, "two led at once")
	}
	left, err := client.Get(t.Context(), cfg.Prefix+"/elections/", clientv3.WithPrefix(), clientv3.WithMaxCreateRev(one.Epoch))
	require.NoError(t, err)
	require.Len(t, left.Kvs, 1, "its lease still lived when it stopped")
	require.LessOrEqual(t, one.Remaining(), time.Duration(0))
	require.False(t, a.Connected())
	two := next(t, bs, patience)
	require.Greater(t, two.Epoch, one.Epoch)

	mend(t, proxy)
	require.Eventually(t, a.Connected, patience, tick)
	require.Eventually(t, func() bool { id, _ := a.Leader("leader"); return id == "b" }, patience, tick, "it sees who leads now")
	require.Empty(t, as)
}

// Whoever comes and goes, never do two lead at the same time.
func TestNeverTwoLeadersAtOnce(t *testing.T) {
	t.Parallel()
	cfg := config(t, "")
	var leading, terms atomic.Int64
	var all sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d"} {
		r := start(t, named(cfg, id))
		all.Go(func() {
			for range 5 {
				ctx, cancel := context.WithCancel(t.Context())
				err := r.Elect(ctx, "leader", func(context.Context, coord.Term) error {
					if leading.Add(1) != 1 {
						t.Error("two lead at once")
					}
					terms.Add(1)
					leading.Add(-1)
					cancel()
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 20, terms.Load())
	require.Empty(t, keys(t, etcd(t, cfg.Endpoints), cfg.Prefix+"/elections/"))
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := coord.New(coord.Config{Prefix: "aisle/", TTL: 1500 * time.Millisecond, AlarmEvery: -1, ID: "a/b"})
	for _, says := range []string{"endpoints", "id", "slash", "TTL", "alarms"} {
		require.ErrorContains(t, err, says)
	}
	c, err := coord.New(coord.Config{Endpoints: []string{"http://127.0.0.1:1"}, ID: strings.Repeat("a", 36)})
	require.NoError(t, err)
	require.False(t, c.Connected())
}
