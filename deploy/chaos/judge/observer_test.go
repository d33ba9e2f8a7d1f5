package judge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/judge"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

const (
	eventually = 20 * time.Second
	every      = 10 * time.Millisecond
	lease      = 10 * time.Second
)

// leader writes snapshots and publishes messages as leaders do, right or wrong.
type leader struct {
	t       *testing.T
	client  redis.UniversalClient
	prefix  string
	showing uuid.UUID
}

// look begins to look on at a Redis that a leader of the test's writes to.
func look(t *testing.T, client redis.UniversalClient, prefix string) (*leader, *judge.Observer) {
	t.Helper()
	o := judge.Observe(t.Context(), client, strings.TrimSuffix(prefix, ":"))
	t.Cleanup(o.Close)
	select {
	case <-o.Ready():
	case <-time.After(eventually):
		t.Fatal("no subscription")
	}
	return &leader{t: t, client: client, prefix: prefix, showing: uuid.New()}, o
}

func single(t *testing.T) (client *redis.Client, prefix string) {
	t.Helper()
	url, prefix := stacktest.Redis(t)
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	options.ClientName = strings.TrimSuffix(prefix, ":")
	client = redis.NewClient(options)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client, prefix
}

func (l *leader) key() string { return l.prefix + "{" + l.showing.String() + "}:snapshot" }

func (l *leader) says(epoch, prev, seq int64) {
	l.t.Helper()
	var events []map[string]any
	for n := prev + 1; n <= seq; n++ {
		events = append(events, map[string]any{"stream": l.showing, "seq": n, "entity": "seat:A1", "data": map[string]any{}})
	}
	text, err := json.Marshal(map[string]any{"log": "k3f9", "epoch": epoch, "prev": prev, "seq": seq, "events": events})
	require.NoError(l.t, err)
	l.publish(string(text))
}

func (l *leader) publish(text string) {
	l.t.Helper()
	require.NoError(l.t, l.client.Publish(l.t.Context(), l.prefix+"{"+l.showing.String()+"}:delta", text).Err())
}

func eventAt(seq int64) uuid.UUID { return idOf(fmt.Sprint("event ", seq)) }

func (l *leader) writes(epoch, round, seq int64, seats map[string]string) {
	l.t.Helper()
	states, taken := map[string]any{}, 0
	for seat, status := range seats {
		states[seat] = map[string]any{"status": status, "seq": seq}
		if status != "available" {
			taken++
		}
	}
	state, err := json.Marshal(map[string]any{"seq": seq, "event": eventAt(seq), "seats": states, "bookings": map[string]any{}})
	require.NoError(l.t, err)
	pipe := l.client.TxPipeline()
	pipe.HSet(l.t.Context(), l.key(), "format", 1, "epoch", epoch, "round", round, "log", "k3f9", "seq", seq,
		"event", eventAt(seq).String(), "taken", taken, "deadline", 0, "state", state)
	pipe.PExpire(l.t.Context(), l.key(), lease)
	_, err = pipe.Exec(l.t.Context())
	require.NoError(l.t, err)
}

// heard waits until the observer has heard so many messages.
func heard(t *testing.T, o *judge.Observer, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return o.Messages() == n }, eventually, every)
}

func finds(t *testing.T, o *judge.Observer, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(broken(o.Violations())) == len(want) }, eventually, every, "%v", o.Violations())
	require.Equal(t, want, broken(o.Violations()))
}

// saw waits until the observer has looked at a snapshot as it is now, and so finds what goes back from there.
func saw(t *testing.T, l *leader, o *judge.Observer) {
	t.Helper()
	before := o.Looks(l.showing)
	// The first of them may have been asked for before.
	require.Eventually(t, func() bool { return o.Looks(l.showing) >= before+2 }, eventually, every)
}

func TestObserverAcceptsWhatIsRight(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.writes(7, 0, 3, nil)
	l.says(7, 0, 3)
	l.says(7, 0, 3) // its answer was lost
	saw(t, l, o)
	l.writes(8, 0, 900, nil)
	l.publish(`{"log":"k3f9","epoch":8,"prev":3,"seq":900}`) // too many events to carry
	heard(t, o, 3)
	saw(t, l, o)
	require.Empty(t, o.Violations())
}

func TestObserverFindsWhatIsTwice(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.says(7, 0, 3)
	l.says(7, 2, 4)
	heard(t, o, 2)
	finds(t, o, judge.ProjectedOnce)
	require.Contains(t, o.Violations()[0].Detail, "epoch 7 published 3–4 of log k3f9 after 1–3")
}

func TestObserverFindsWhatCantBeRead(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.publish(`{"log":"k3f9","epoch":7,"prev":0,"seq":2,"events":[{"seq":1}]}`)
	heard(t, o, 1)
	finds(t, o, judge.ProjectedOnce)
}

func TestObserverFindsAnOldLeader(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.writes(8, 0, 3, nil)
	saw(t, l, o)
	l.says(8, 0, 3)
	l.says(7, 0, 4)
	heard(t, o, 2)
	finds(t, o, judge.NeverBack)
}

func TestObserverFindsASnapshotThatGoesBack(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.writes(7, 0, 30, nil)
	l.says(7, 29, 30)
	saw(t, l, o)
	l.writes(7, 0, 29, nil)
	finds(t, o, judge.NeverBack)
}

// One whose showing sends no message is found, too.
func TestObserverLooksForSnapshots(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.writes(7, 0, 30, nil)
	saw(t, l, o)
	l.writes(6, 0, 31, nil)
	finds(t, o, judge.NeverBack)
}

// What Redis lost may come again, when somebody says so.
func TestObserverResets(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.writes(8, 0, 30, nil)
	l.says(8, 0, 30)
	heard(t, o, 1)
	saw(t, l, o)
	o.Reset()
	l.writes(7, 0, 29, nil)
	l.says(7, 0, 29)
	heard(t, o, 2)
	saw(t, l, o)
	require.Empty(t, o.Violations())
}

func TestObserverSubscribesAgain(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	l.says(7, 0, 3)
	heard(t, o, 1)
	for range 3 {
		killSubscription(t, client, strings.TrimSuffix(prefix, ":"))
	}
	// It says so until it is heard: what is published meanwhile is lost, and nothing is claimed about it.
	seq := int64(3)
	require.Eventually(t, func() bool {
		seq++
		l.says(7, seq-1, seq)
		return o.Messages() > 1
	}, eventually, every)
	require.Empty(t, o.Violations())
	l.says(7, 1, seq+1)
	finds(t, o, judge.ProjectedOnce)
}

// killSubscription cuts the line of the subscription that the test's own client has.
func killSubscription(t *testing.T, client *redis.Client, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := client.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		require.NoError(t, err)
		for line := range strings.Lines(list) {
			id, rest, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			if strings.Contains(rest, " name="+name+" ") {
				return client.Do(t.Context(), "CLIENT", "KILL", "ID", id).Err() == nil
			}
		}
		return false
	}, eventually, every)
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	client, prefix := single(t)
	l, o := look(t, client, prefix)
	m := judge.Map{Log: "k3f9", Seq: 30, Event: eventAt(30), Open: true, Seats: map[string]string{"A1": "sold", "A2": "available", "A3": "held"}}
	right := map[string]string{"A1": "sold", "A3": "held", "A2": "available"}
	check := func(m judge.Map) []string {
		t.Helper()
		found, err := o.Snapshots(t.Context(), map[uuid.UUID]judge.Map{l.showing: m}, lease)
		require.NoError(t, err)
		return broken(found)
	}
	none := []string(nil)
	wrong := []string{judge.ProjectedOnce}

	require.Equal(t, wrong, check(m), "there is none")
	l.writes(7, 0, 30, right)
	require.Equal(t, none, check(m))
	closed := m
	closed.Open, closed.Seq = false, 31
	require.Equal(t, none, check(closed), "nobody projects it any more")
	for what, other := range map[string]judge.Map{
		"seq":   {Log: "k3f9", Seq: 31, Event: eventAt(31), Open: true, Seats: m.Seats},
		"log":   {Log: "other", Seq: 30, Event: eventAt(30), Open: true, Seats: m.Seats},
		"event": {Log: "k3f9", Seq: 30, Event: eventAt(29), Open: true, Seats: m.Seats},
		"seats": {Log: "k3f9", Seq: 30, Event: eventAt(30), Open: true, Seats: map[string]string{"A1": "sold", "A2": "held"}},
	} {
		require.Equal(t, wrong, check(other), what)
	}
	require.NoError(t, client.HSet(t.Context(), l.key(), "taken", 3).Err())
	require.Equal(t, wrong, check(m), "counts what it doesn't show")
	l.writes(7, 0, 30, right)
	require.NoError(t, client.PExpire(t.Context(), l.key(), 2*lease).Err())
	require.Equal(t, wrong, check(m), "outlives the lease")
	require.NoError(t, client.Persist(t.Context(), l.key()).Err())
	require.Equal(t, wrong, check(m), "never ends")
	l.writes(7, 0, 30, right)
	l.says(8, 30, 31)
	heard(t, o, 1)
	require.Equal(t, wrong, check(m), "signed by an earlier term")
	require.NoError(t, client.Del(t.Context(), l.key()).Err())
	require.NoError(t, client.Set(t.Context(), l.key(), "rubbish", 0).Err())
	require.Equal(t, wrong, check(m), "rubbish")
}

// On a Cluster, what one node publishes is heard through another, and each snapshot is looked at where it is.
func TestObserverOnACluster(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: stacktest.Cluster(t).Addresses()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	first, o := look(t, client, "cluster:")
	leaders := []*leader{first}
	for range 11 { // on all three nodes, but for one time in a hundred
		leaders = append(leaders, &leader{t: t, client: client, prefix: first.prefix, showing: uuid.New()})
	}
	want := map[uuid.UUID]judge.Map{}
	for _, l := range leaders {
		l.writes(7, 0, 3, map[string]string{"A1": "held"})
		l.says(7, 0, 3)
		want[l.showing] = judge.Map{Log: "k3f9", Seq: 3, Event: eventAt(3), Open: true, Seats: map[string]string{"A1": "held"}}
	}
	heard(t, o, 12)
	for _, l := range leaders {
		saw(t, l, o)
	}
	found, err := o.Snapshots(t.Context(), want, lease)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, o.Violations())
	for _, l := range leaders {
		l.writes(7, 0, 2, nil)
	}
	require.Eventually(t, func() bool { return len(o.Violations()) == 12 }, eventually, every)
}
