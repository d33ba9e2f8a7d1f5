package coord

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// maxKeys is how many summaries one transaction writes; etcd's own limit is 128 operations.
	maxKeys = 100
	// writeEvery is the time between transactions: two a second, so that etcd's log stays small.
	writeEvery = 500 * time.Millisecond
	// maxGone is how many summaries are remembered that are no longer in etcd.
	maxGone = 10_000
)

// Summaries are the lease-bound keys "<prefix>/showings/<id>": written by the leader, watched by all.
type Summaries struct {
	root   string
	logger *slog.Logger

	mu sync.Mutex
	// epoch is that of this replica's term, 0 when it doesn't lead; ballot is the key that proves it.
	epoch  int64
	ballot string
	// due are summaries of this term that are not in etcd yet.
	due map[string]Summary
	// seen are the summaries in etcd, as last seen.
	seen map[string]Summary
	// gone are those that were there, until another takes their place: a count of yesterday is of more use than none
	// until the next leader writes its own. At most maxGone.
	gone map[string]Summary
}

func newSummaries(cfg Config) *Summaries {
	return &Summaries{
		root: cfg.Prefix + "/showings/", logger: cfg.Logger, due: map[string]Summary{}, seen: map[string]Summary{}, gone: map[string]Summary{},
	}
}

// Summaries returns the lease-bound keys of the showings.
func (c *Coord) Summaries() *Summaries { return c.summaries }

// Put sets a showing's summary, soon. What isn't of this replica's present term is dropped.
func (s *Summaries) Put(showing string, value Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch == 0 || value.Epoch != s.epoch {
		return
	}
	if s.seen[showing] == value {
		delete(s.due, showing)
		return
	}
	s.due[showing] = value
}

// Get returns a showing's summary as last seen.
func (s *Summaries) Get(showing string) (Summary, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.seen[showing]
	if !ok {
		value, ok = s.gone[showing]
	}
	return value, ok
}

// begin opens the pen for a term.
func (s *Summaries) begin(epoch int64, ballot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch, s.ballot, s.due = epoch, ballot, map[string]Summary{}
}

// end takes it away, unless a later term has it.
func (s *Summaries) end(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch == epoch {
		s.epoch, s.ballot, s.due = 0, "", map[string]Summary{}
	}
}

// write writes what is due, a batch at a time, until ctx ends.
func (s *Summaries) write(ctx context.Context, c *Coord) error {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		session, _ := c.present()
		if session == nil {
			continue
		}
		if err := s.writeBatch(ctx, session); err != nil && ctx.Err() == nil {
			s.logger.DebugContext(ctx, "summaries could not be written; they are tried again", slog.Any("error", err))
		}
	}
}

func (s *Summaries) writeBatch(ctx context.Context, session *session) error {
	batch, epoch, ballot := s.take()
	if len(batch) == 0 {
		return nil
	}
	var puts []clientv3.Op
	for showing, value := range batch {
		body, err := json.Marshal(value)
		if err != nil {
			return err
		}
		puts = append(puts, clientv3.OpPut(s.root+showing, string(body), clientv3.WithLease(session.lease)))
	}
	ctx, cancel := context.WithTimeout(ctx, session.ttl)
	defer cancel()
	// The ballot is the fence: a leader of yesterday writes nothing.
	leads := clientv3.Compare(clientv3.CreateRevision(ballot), "=", epoch)
	_, err := session.client.Txn(ctx).If(leads).Then(puts...).Commit()
	if err != nil {
		s.putBack(batch, epoch)
	}
	return err
}

// take removes a batch from what is due.
func (s *Summaries) take() (batch map[string]Summary, epoch int64, ballot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch = map[string]Summary{}
	for showing, value := range s.due {
		if len(batch) == maxKeys {
			break
		}
		batch[showing] = value
		delete(s.due, showing)
	}
	return batch, s.epoch, s.ballot
}

// putBack makes a batch due again where nothing newer is.
func (s *Summaries) putBack(batch map[string]Summary, epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch {
		return
	}
	for showing, value := range batch {
		if _, newer := s.due[showing]; !newer {
			s.due[showing] = value
		}
	}
}

func (s *Summaries) prefix() string { return s.root }

func (s *Summaries) reset(present []*mvccpb.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.seen
	s.seen = make(map[string]Summary, len(present))
	for _, kv := range present {
		s.read(strings.TrimPrefix(string(kv.Key), s.root), kv)
	}
	for showing, value := range before {
		if _, still := s.seen[showing]; !still {
			s.keep(showing, value)
		}
	}
}

func (s *Summaries) set(key string, kv *mvccpb.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read(key, kv)
}

func (s *Summaries) drop(showing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.seen[showing]; ok {
		delete(s.seen, showing)
		s.keep(showing, value)
	}
}

// keep remembers a summary that is no longer in etcd.
func (s *Summaries) keep(showing string, value Summary) {
	if len(s.gone) >= maxGone {
		clear(s.gone)
	}
	s.gone[showing] = value
}

func (s *Summaries) read(key string, kv *mvccpb.KeyValue) {
	var value Summary
	if err := json.Unmarshal(kv.Value, &value); err != nil {
		s.logger.Warn("a showing's summary can't be read", slog.String("key", key), slog.Any("error", err))
		return
	}
	s.seen[key] = value
	delete(s.gone, key)
}
