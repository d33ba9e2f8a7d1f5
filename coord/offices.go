package coord

import (
	"log/slog"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// offices is the keys "<prefix>/elections/<office>/<lease>", watched to know who leads.
type offices struct {
	root   string
	logger *slog.Logger

	mu sync.Mutex
	// ballots are the candidates by key.
	ballots map[string]candidate
}

type candidate struct {
	office, id string
	epoch      int64
}

func newOffices(cfg Config) *offices {
	return &offices{root: cfg.Prefix + "/elections/", logger: cfg.Logger, ballots: map[string]candidate{}}
}

// Leader returns the replica that holds the named office, as last seen: while etcd is gone, that may be long ago.
func (c *Coord) Leader(name string) (id string, known bool) {
	c.offices.mu.Lock()
	defer c.offices.mu.Unlock()
	var oldest candidate
	for _, b := range c.offices.ballots {
		if b.office == name && (!known || b.epoch < oldest.epoch) {
			oldest, known = b, true
		}
	}
	return oldest.id, known
}

func (o *offices) prefix() string { return o.root }

func (o *offices) reset(present []*mvccpb.KeyValue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ballots = make(map[string]candidate, len(present))
	for _, kv := range present {
		o.read(strings.TrimPrefix(string(kv.Key), o.root), kv)
	}
}

func (o *offices) set(key string, kv *mvccpb.KeyValue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read(key, kv)
}

func (o *offices) drop(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ballots, key)
}

func (o *offices) read(key string, kv *mvccpb.KeyValue) {
	office, _, ok := strings.Cut(key, "/")
	if !ok {
		o.logger.Warn("a ballot can't be read", slog.String("key", key))
		return
	}
	o.ballots[key] = candidate{office: office, id: string(kv.Value), epoch: kv.CreateRevision}
}
