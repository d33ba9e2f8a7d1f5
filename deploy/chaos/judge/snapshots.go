package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Snapshots compares, now, the snapshot of each open showing with the log: it is there, of the log's id and head, its
// seats are what the fold says, it is signed by the latest term, and it ends with that term's lease (0: whenever).
// An error means that Redis could not be asked.
func (o *Observer) Snapshots(ctx context.Context, want map[uuid.UUID]Map, lease time.Duration) ([]Violation, error) {
	found := make(map[uuid.UUID]stored, len(want))
	for id, m := range want {
		if !m.Open {
			continue
		}
		s, err := o.stored(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("judge: snapshot of %s: %w", id, err)
		}
		found[id] = s
	}
	var f findings
	epoch := o.latestEpoch()
	for _, s := range found {
		epoch = max(epoch, s.epoch)
	}
	for id, s := range found {
		s.compare(&f, id, want[id], epoch, lease)
	}
	return f.all(), nil
}

// stored is a snapshot as it was read, or why it can't be.
type stored struct {
	snapshot
	ttl time.Duration
	bad error
}

func (o *Observer) stored(ctx context.Context, showing uuid.UUID) (stored, error) {
	key := snapshotKey(o.prefix, showing)
	fields, err := o.client.HGetAll(ctx, key).Result()
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return stored{}, err
	}
	ttl, err := o.client.PTTL(ctx, key).Result()
	if err != nil {
		return stored{}, err
	}
	s, err := decodeSnapshot(fields)
	return stored{snapshot: s, ttl: ttl, bad: err}, nil
}

// latestEpoch is the highest that was heard.
func (o *Observer) latestEpoch() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	var epoch int64
	for _, p := range o.showings {
		epoch = max(epoch, p.top.Epoch)
	}
	return epoch
}

func (s stored) compare(f *findings, id uuid.UUID, m Map, epoch int64, lease time.Duration) {
	if s.bad != nil {
		f.add(ProjectedOnce, "showing %s: no snapshot of seq %d that can be read: %v", id, m.Seq, s.bad)
		return
	}
	if s.log != m.Log || s.seq != m.Seq || s.event != m.Event {
		f.add(ProjectedOnce, "showing %s: expected a snapshot of seq %d of log %s, got %s", id, m.Seq, m.Log, s.standing)
		return
	}
	if s.epoch != epoch {
		f.add(ProjectedOnce, "showing %s: the snapshot is signed by epoch %d, and the latest is %d", id, s.epoch, epoch)
	}
	// A key without an end has a negative time to live.
	if s.ttl <= 0 || (lease > 0 && s.ttl > lease) {
		f.add(ProjectedOnce, "showing %s: the snapshot ends in %v, and the lease is %v", id, s.ttl, lease)
	}
	taken := 0
	for _, seat := range slices.Sorted(maps.Keys(union(s.statuses, m.Seats))) {
		got, ok := s.statuses[seat]
		if !ok {
			got = available
		}
		if got != available {
			taken++
		}
		if want := m.status(seat); got != want {
			f.add(ProjectedOnce, "showing %s: seat %s: expected %s in the snapshot, got %s", id, seat, want, got)
		}
	}
	if s.taken != taken {
		f.add(ProjectedOnce, "showing %s: the snapshot counts %d seats as taken and shows %d", id, s.taken, taken)
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
