package coord

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Whatever stands under the keys, the pictures take what they can read and leave the rest; what they took they would
// write in a form that means the same.
func FuzzPictures(f *testing.F) {
	f.Add("a", `{"id":"a","sockets":1}`, int64(1))
	f.Add("a", `{"id":"a","address":"http://127.0.0.1:8080","version":"1","since":"2026-11-30T12:00:00Z","sockets":7,"load":0.5}`, int64(1))
	f.Add("leader/1f", "a", int64(2))
	f.Add("/", "", int64(0))
	f.Add("s1", `{"left":1,"seq":2,"epoch":3}`, int64(3))
	f.Add("s1", `{"left":-1,"seq":1e400}`, int64(-3))
	f.Fuzz(func(t *testing.T, key, value string, revision int64) {
		c, err := New(Config{ID: "a", Endpoints: []string{"http://127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		kv := &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), CreateRevision: revision}
		for _, picture := range []follower{c.registry, c.offices, c.summaries} {
			picture.set(key, kv)
			kv.Key = []byte(picture.prefix() + key)
			picture.reset([]*mvccpb.KeyValue{kv})
		}
		for _, r := range c.Replicas() {
			if r.ID != key {
				t.Fatalf("%q is registered as %q", r.ID, key)
			}
			checkReplica(t, r)
		}
		if id, known := c.Leader(key); known && id != value {
			t.Fatalf("%q leads, who didn't stand", id)
		}
		if s, known := c.Summaries().Get(key); known {
			checkSummary(t, s)
		}
		for _, picture := range []follower{c.registry, c.offices, c.summaries} {
			picture.drop(key)
		}
		if len(c.Replicas()) != 0 {
			t.Fatal("an entry outlived its key")
		}
		if _, leads := c.Leader(key); leads {
			t.Fatal("a leader outlived its ballot")
		}
	})
}

func checkReplica(t *testing.T, r Replica) {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("%+v can't be written: %v", r, err)
	}
	var again Replica
	if err := json.Unmarshal(body, &again); err != nil {
		t.Fatalf("%s can't be read: %v", body, err)
	}
	if !again.Since.Equal(r.Since) {
		t.Fatalf("%s became %s", r.Since, again.Since)
	}
	again.Since, r.Since = time.Time{}, time.Time{}
	if again != r {
		t.Fatalf("%+v became %+v", r, again)
	}
}

func checkSummary(t *testing.T, s Summary) {
	t.Helper()
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("%+v can't be written: %v", s, err)
	}
	var again Summary
	if err := json.Unmarshal(body, &again); err != nil || again != s {
		t.Fatalf("%+v became %+v (%v)", s, again, err)
	}
}
