package lock_test

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/lock"
)

//go:embed testdata/acquire_keys.lua
var acquireKeysLua string

// depth is how many calls are under way at once in the benchmarks below.
const depth = 128

// What the calls of a replica reach through a Locker (gathered), beside the same scripts put into pipelines by
// hand (raw), and one at a time (alone).
func BenchmarkCalls(b *testing.B) {
	r := single(b)
	acquire := func(b *testing.B) {
		b.Helper()
		request := lock.Request{
			Showing: uuid.New(), Owner: uuid.New(), ID: "1", Seats: []string{"A1", "A2"}, TTL: 5 * time.Second,
		}
		if _, err := r.Acquire(b.Context(), request); err != nil {
			b.Error(err)
		}
	}
	b.Run("raw", func(b *testing.B) {
		raw, turn := newSale(b, r, layouts(b)["hash"], 2), 0
		for b.Loop() {
			turn++
			if turn%depth == 0 { // one turn of the loop is one call
				raw.flush(b)
			}
		}
	})
	b.Run("gathered", func(b *testing.B) {
		b.SetParallelism(depth / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				acquire(b)
			}
		})
	})
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			acquire(b)
		}
	})
}

// One hash a showing, or one key a seat: how fast seats are acquired, and what 240 locks cost in memory. The two
// take turns, a pipeline each, and the medians are compared, so that the machine's other work disturbs both alike.
func BenchmarkLayout(b *testing.B) {
	r := single(b)
	hash, keys := layouts(b)["hash"], layouts(b)["keys"]
	for _, seats := range []int{1, 2, 4, 10} {
		b.Run("seats="+strconv.Itoa(seats), func(b *testing.B) {
			ours, theirs := newSale(b, r, hash, seats), newSale(b, r, keys, seats)
			var hashTook, keysTook []time.Duration
			for b.Loop() {
				hashTook = append(hashTook, ours.flush(b))
				keysTook = append(keysTook, theirs.flush(b))
			}
			h, k := median(hashTook), median(keysTook)
			b.ReportMetric(float64(h.Microseconds())/depth, "hash-µs/call")
			b.ReportMetric(float64(k)/float64(h), "keys/hash")
		})
	}
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(memory(b, r, hash), "hash-bytes/240-seats")
			b.ReportMetric(memory(b, r, keys)/memory(b, r, hash), "keys/hash")
		}
	})
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// layout is a way to keep a showing's locks: its script, and the keys and arguments of one acquisition.
type layout struct {
	script *redis.Script
	args   func(prefix string, showing, owner uuid.UUID, seats []string) ([]string, []any)
}

func layouts(b *testing.B) map[string]layout {
	b.Helper()
	acquireLua, err := os.ReadFile("acquire.lua")
	require.NoError(b, err)
	const id = "0123456789abcdefghijkl"
	return map[string]layout{
		"hash": {redis.NewScript(string(acquireLua)), func(prefix string, showing, owner uuid.UUID, seats []string) ([]string, []any) {
			args := []any{owner.String(), id, 5000, lock.MaxNested}
			for _, seat := range seats {
				args = append(args, seat, "")
			}
			return []string{lock.Key(prefix, showing)}, args
		}},
		"keys": {redis.NewScript(acquireKeysLua), func(prefix string, showing, owner uuid.UUID, seats []string) ([]string, []any) {
			keys, args := []string{lock.Key(prefix, showing), lock.Key(prefix, showing) + ":*"}, []any{owner.String(), id, 5000, lock.MaxNested}
			for _, seat := range seats {
				keys, args = append(keys, lock.Key(prefix, showing)+":"+seat), append(args, "")
			}
			return keys, args
		}},
	}
}

// sale acquires seats of ever the same thousand showings, in pipelines. Each call has an owner of its own and finds
// its seats free.
type sale struct {
	*rig
	layout
	seats    int
	showings []uuid.UUID
	next     int
}

func newSale(b *testing.B, r *rig, how layout, seats int) *sale {
	b.Helper()
	require.NoError(b, how.script.Load(b.Context(), r.client).Err())
	showings := make([]uuid.UUID, 1000)
	for i := range showings {
		showings[i] = uuid.New()
	}
	return &sale{rig: r, layout: how, seats: seats, showings: showings}
}

// flush sends depth calls in one pipeline, and says how long that took.
func (s *sale) flush(b *testing.B) time.Duration {
	b.Helper()
	pipe := s.client.Pipeline()
	for range depth {
		names := make([]string, s.seats)
		for n := range names {
			names[n] = "A" + strconv.Itoa(s.next/len(s.showings)*s.seats+n)
		}
		keys, args := s.args(s.cfg.Prefix, s.showings[s.next%len(s.showings)], uuid.New(), names)
		s.script.EvalSha(b.Context(), pipe, keys, args...)
		s.next++
	}
	start := time.Now()
	_, err := pipe.Exec(b.Context())
	require.NoError(b, err)
	return time.Since(start)
}

// memory is what Redis needs for the locks of a whole house of 240 seats.
func memory(b *testing.B, r *rig, how layout) float64 {
	b.Helper()
	seats := make([]string, 240)
	for i := range seats {
		seats[i] = fmt.Sprintf("%c%d", 'A'+i/20, i%20+1)
	}
	keys, args := how.args(r.cfg.Prefix, uuid.New(), uuid.New(), seats)
	require.NoError(b, how.script.Run(b.Context(), r.client, keys, args...).Err())
	return float64(used(b.Context(), b, r.client, keys))
}

func used(ctx context.Context, b *testing.B, client redis.UniversalClient, keys []string) int64 {
	b.Helper()
	total := int64(0)
	for _, key := range keys {
		size, err := client.MemoryUsage(ctx, key).Result()
		if err != nil {
			require.ErrorIs(b, err, redis.Nil)
		}
		total += size
	}
	return total
}
