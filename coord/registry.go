package coord

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// registry is the keys "<prefix>/replicas/<id>": each replica writes its own, all watch them.
type registry struct {
	root   string
	logger *slog.Logger
	// renewed is signalled when there is something new to say of this replica.
	renewed chan struct{}

	mu       sync.Mutex
	self     *Replica
	replicas map[string]Replica
	watchers []chan struct{}
}

func newRegistry(cfg Config) *registry {
	return &registry{
		root: cfg.Prefix + "/replicas/", logger: cfg.Logger, renewed: make(chan struct{}, 1), replicas: map[string]Replica{},
	}
}

// Announce sets what the registry says of this replica. ID is Config.ID's, whatever is given.
func (c *Coord) Announce(r Replica) {
	r.ID = c.cfg.ID
	c.registry.mu.Lock()
	c.registry.self = &r
	c.registry.mu.Unlock()
	signal(c.registry.renewed)
}

// Replicas returns the registered replicas by id, as last seen.
func (c *Coord) Replicas() []Replica {
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.registry.replicas), func(a, b Replica) int { return cmp.Compare(a.ID, b.ID) })
}

// ReplicasChanged returns a channel of its own for the caller, signalled (capacity 1) after every change. It lasts
// as long as the Coord.
func (c *Coord) ReplicasChanged() <-chan struct{} {
	changed := make(chan struct{}, 1)
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	c.registry.watchers = append(c.registry.watchers, changed)
	return changed
}

// register writes this replica's entry, bound to its session, whenever either is new.
func (c *Coord) register(ctx context.Context) error {
	var last entry
	pause := newPause(c.cfg.TTL)
	for {
		s, changed := c.present()
		err := c.writeSelf(ctx, s, &last)
		if err != nil && ctx.Err() == nil {
			c.cfg.Logger.DebugContext(ctx, "this replica could not be registered; it is tried again", slog.Any("error", err))
			pause.wait(ctx)
			continue
		}
		pause.reset()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-c.registry.renewed:
		}
	}
}

// entry is what was written last, and with which lease.
type entry struct {
	session *session
	body    string
}

// writeSelf writes this replica's entry when it is another than the last.
func (c *Coord) writeSelf(ctx context.Context, s *session, last *entry) error {
	c.registry.mu.Lock()
	self := c.registry.self
	c.registry.mu.Unlock()
	if s == nil || self == nil {
		return nil
	}
	body, err := json.Marshal(self)
	if err != nil {
		return err
	}
	next := entry{session: s, body: string(body)}
	if next == *last {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.ttl)
	defer cancel()
	if _, err := s.client.Put(ctx, c.registry.root+c.cfg.ID, next.body, clientv3.WithLease(s.lease)); err != nil {
		return err
	}
	*last = next
	return nil
}

func (r *registry) prefix() string { return r.root }

func (r *registry) reset(present []*mvccpb.KeyValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replicas = make(map[string]Replica, len(present))
	for _, kv := range present {
		r.read(strings.TrimPrefix(string(kv.Key), r.root), kv)
	}
	r.tell()
}

func (r *registry) set(key string, kv *mvccpb.KeyValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read(key, kv)
	r.tell()
}

func (r *registry) drop(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.replicas, key)
	r.tell()
}

// read takes an entry over; one that can't be read counts as none.
func (r *registry) read(key string, kv *mvccpb.KeyValue) {
	var replica Replica
	if err := json.Unmarshal(kv.Value, &replica); err != nil || replica.ID != key {
		r.logger.Warn("an entry of the registry can't be read", slog.String("key", key), slog.Any("error", err))
		delete(r.replicas, key)
		return
	}
	r.replicas[key] = replica
}

func (r *registry) tell() {
	for _, watcher := range r.watchers {
		signal(watcher)
	}
}

// signal leaves one signal in a channel of capacity one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
