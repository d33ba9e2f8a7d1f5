package coord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/aislehq/aisle/coord"
)

func TestReplicasKnowEachOther(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	a, b := start(t, cfg), start(t, named(cfg, "b"))
	since := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	changed := b.ReplicasChanged()
	other := b.ReplicasChanged()
	a.Announce(coord.Replica{ID: "an impostor", Address: "http://10.0.0.1:8080", Version: "1.2.3", Since: since, Sockets: 12, Load: 0.5})
	b.Announce(coord.Replica{Address: "http://10.0.0.2:8080", Version: "1.2.3", Since: since})
	want := []coord.Replica{
		{ID: "a", Address: "http://10.0.0.1:8080", Version: "1.2.3", Since: since, Sockets: 12, Load: 0.5},
		{ID: "b", Address: "http://10.0.0.2:8080", Version: "1.2.3", Since: since},
	}
	for _, r := range []*replica{a, b} {
		require.Eventually(t, func() bool { return len(r.Replicas()) == 2 }, patience, tick)
		require.Equal(t, want, r.Replicas())
	}
	over(t, first(changed), "the wait for a change")
	over(t, first(other), "the wait for a change")

	client := etcd(t, cfg.Endpoints)
	kept, err := client.Get(t.Context(), cfg.Prefix+"/replicas/a")
	require.NoError(t, err)
	require.Len(t, kept.Kvs, 1)
	require.JSONEq(t, `{"id":"a","address":"http://10.0.0.1:8080","version":"1.2.3","since":"2026-11-30T12:00:00Z","sockets":12,"load":0.5}`,
		string(kept.Kvs[0].Value))
	require.NotZero(t, kept.Kvs[0].Lease)

	want[0].Sockets = 13
	a.Announce(want[0])
	a.Announce(want[0])
	require.Eventually(t, func() bool { return b.Replicas()[0].Sockets == 13 }, patience, tick)

	a.stop()
	require.Eventually(t, func() bool { return len(b.Replicas()) == 1 }, soon, tick, "it is gone long before its lease would end")
	require.Equal(t, "b", b.Replicas()[0].ID)
}

// first is closed when there was a signal.
func first(signals <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		<-signals
		close(done)
	}()
	return done
}

// Entries that can't be read, of another version or of someone's hand, count as none and disturb nobody.
func TestUnreadableEntriesAreNone(t *testing.T) {
	t.Parallel()
	cfg := config(t, "a")
	client := etcd(t, cfg.Endpoints)
	for key, value := range map[string]string{
		"/replicas/x": "{", "/replicas/y": `{"id":"z"}`, "/elections/leader": "nobody", "/showings/s1": `{"left":"many"}`,
	} {
		_, err := client.Put(t.Context(), cfg.Prefix+key, value)
		require.NoError(t, err)
	}
	a := start(t, cfg)
	a.Announce(coord.Replica{})
	require.Eventually(t, func() bool { return len(a.Replicas()) == 1 }, patience, tick)
	require.Equal(t, "a", a.Replicas()[0].ID)
	_, known := a.Leader("leader")
	require.False(t, known)
	_, known = a.Summaries().Get("s1")
	require.False(t, known)

	_, err := client.Put(t.Context(), cfg.Prefix+"/replicas/a", "spoilt")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(a.Replicas()) == 0 }, patience, tick)
}

// A watch that was cut off meanwhile meets a revision that etcd has forgotten: it reads the present and goes on.
func TestWatchThatMeetsACompactedRevisionGoesOn(t *testing.T) {
	t.Parallel()
	endpoints := ownEtcd(t).EtcdEndpoints() // compaction is for all of an etcd
	cfg := coord.Config{Endpoints: endpoints, ID: "a", TTL: time.Second}
	proxy := behindProxy(t, endpoints[0])
	cfg.Endpoints = []string{"http://" + proxy.Listen}
	a := start(t, cfg)
	client := etcd(t, endpoints)
	entry := func(id string) {
		t.Helper()
		_, err := client.Put(t.Context(), "/aisle/replicas/"+id, `{"id":"`+id+`"}`)
		require.NoError(t, err)
	}
	ids := func() []string {
		all := []string{}
		for _, r := range a.Replicas() {
			all = append(all, r.ID)
		}
		return all
	}
	entry("x")
	entry("y")
	require.Eventually(t, func() bool { return len(ids()) == 2 }, patience, tick)

	proxy.Stop()
	_, err := client.Delete(t.Context(), "/aisle/replicas/x")
	require.NoError(t, err)
	entry("z")
	now, err := client.Get(t.Context(), "/aisle/replicas/y")
	require.NoError(t, err)
	_, err = client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
	require.NoError(t, proxy.Start())
	require.Eventually(t, func() bool { return len(ids()) == 2 && ids()[1] == "z" }, patience, tick)
	require.Equal(t, []string{"y", "z"}, ids(), "what was deleted in the forgotten time is gone")
	entry("zz")
	require.Eventually(t, func() bool { return len(ids()) == 3 }, patience, tick, "and it still watches")
}
