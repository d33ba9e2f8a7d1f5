package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/lock"
)

const (
	// lockers is how many goroutines lock and unlock.
	lockers = 200
	// lockSeats is how many seats each wants, of one of so many showings.
	lockSeats, lockShowings = 3, 50
	// rawPipeline is how many calls the raw client sends at once; rawLines is how many lines it has: together they have
	// as many calls under way as there are lockers.
	rawPipeline, rawLines = 16, 12
	lockFor               = 5 * time.Second
)

// Locking is the row of the seat locks.
func Locking(ctx context.Context, b *Bench) (measure.Report, error) {
	contestants, err := b.lockers(ctx)
	if err != nil {
		return measure.Report{}, err
	}
	results, err := measure.Alternate(ctx, b.rounds(), contestants)
	if err != nil {
		return measure.Report{}, err
	}
	return measure.Report{
		Title: "Locking seats",
		About: fmt.Sprintf(`%d goroutines lock %d seats, all or none, and unlock them again, over and over; nobody is in another's way. redislock has a key for each seat, taken
one after the other (its version here has no call for several keys). The raw client runs the very same scripts by EVALSHA, %d calls a pipeline on %d lines: what Redis can do with
them. Rates are of lock and unlock together, latencies too.`, lockers, lockSeats, rawPipeline, rawLines),
		Tables: []measure.Table{{
			Main: measure.Rate, Results: results,
			Columns: []measure.Column{
				{Title: "lock + unlock/s", Figure: measure.Rate},
				{Title: "p50", Figure: measure.P50, Unit: measure.Seconds},
				{Title: "p99", Figure: measure.P99, Unit: measure.Seconds},
				{Title: "here", Figure: measure.SelfCPU, Unit: measure.Cores},
				{Title: "Redis", Figure: measure.RedisCPU, Unit: measure.Cores},
			},
			Ratios: []measure.Ratio{
				{Claim: "against redislock", Value: measure.Against(results[0], results[1], measure.Rate), Goal: 9},
				{Claim: "against the raw scripts", Value: measure.Against(results[0], results[2], measure.Rate), Goal: 0.6},
			},
		}},
	}, nil
}

func (b *Bench) lockers(ctx context.Context) ([]measure.Contestant, error) {
	client := b.Stores.Redis()
	locker, err := lock.New(client, lock.Config{Prefix: "locking:", Timeout: lockFor}) // nobody is late, however busy the machine
	if err != nil {
		return nil, err
	}
	raw, err := b.newRaw(ctx, client)
	if err != nil {
		return nil, err
	}
	single := redislock.New(client)
	return []measure.Contestant{
		{Name: ours, Round: func(ctx context.Context) (measure.Sample, error) {
			return repeat(ctx, lockers, 1, b.Round, func(ctx context.Context, w want) error {
				owner := uuid.New()
				_, err := locker.Acquire(ctx, lock.Request{Showing: w.showing, Seats: w.seats, Owner: owner, ID: "1", TTL: lockFor})
				if err != nil {
					return err
				}
				return locker.Release(ctx, w.showing, owner, "1", w.seats)
			})
		}},
		{Name: "redislock", Round: func(ctx context.Context) (measure.Sample, error) {
			return repeat(ctx, lockers, 1, b.Round, func(ctx context.Context, w want) error { return lockSingly(ctx, single, w) })
		}},
		{Name: "raw scripts, pipelined", Round: func(ctx context.Context) (measure.Sample, error) {
			return repeat(ctx, rawLines, rawPipeline, b.Round, raw.lockUnlock)
		}},
	}, nil
}

// want is what one goroutine locks; no two want the same.
type want struct {
	showing uuid.UUID
	seats   []string
}

// repeat lets so many goroutines lock and unlock for a while; each call of do does it so many times at once.
func repeat(ctx context.Context, goroutines, times int, span time.Duration, do func(context.Context, want) error) (measure.Sample, error) {
	sample := measure.Sample{}
	latencies := make([]measure.Histogram, goroutines)
	showings := newHouse(lockShowings, 0).Showings
	spent, err := metered(sample, func() error {
		group, ctx := errgroup.WithContext(ctx)
		end := time.Now().Add(span)
		for g := range goroutines {
			w := want{showing: showings[g%len(showings)]}
			for i := range lockSeats {
				w.seats = append(w.seats, fmt.Sprintf("%c%d", 'A'+i, g))
			}
			group.Go(func() error {
				for time.Now().Before(end) {
					began := time.Now()
					if err := do(ctx, w); err != nil {
						return err
					}
					latencies[g].Add(time.Since(began))
				}
				return nil
			})
		}
		return group.Wait()
	})
	if err != nil {
		return nil, err
	}
	var latency measure.Histogram
	for i := range latencies {
		latency.Merge(&latencies[i])
	}
	sample[measure.Rate] = float64(times) * float64(latency.Count()) / spent.Seconds()
	sample.Latency(&latency)
	return sample, nil
}

func lockSingly(ctx context.Context, client *redislock.Client, w want) error {
	held := make([]*redislock.Lock, 0, len(w.seats))
	for _, seat := range w.seats {
		l, err := client.Obtain(ctx, "seat:"+w.showing.String()+":"+seat, lockFor, nil)
		if err != nil {
			return err
		}
		held = append(held, l)
	}
	for _, l := range held {
		if err := l.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// raw runs the locks' own scripts with nothing around them.
type raw struct {
	client           redis.UniversalClient
	acquire, release string
}

func (b *Bench) newRaw(ctx context.Context, client redis.UniversalClient) (*raw, error) {
	r := &raw{client: client}
	for path, sha := range map[string]*string{"lock/acquire.lua": &r.acquire, "lock/release.lua": &r.release} {
		text, err := b.readRepo(path)
		if err != nil {
			return nil, err
		}
		if *sha, err = client.ScriptLoad(ctx, text).Result(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// lockUnlock locks and unlocks as many times as a pipeline has room for, each in a showing of its own.
func (r *raw) lockUnlock(ctx context.Context, w want) error {
	type holding struct{ key, owner string }
	const id = "0123456789abcdefghijkl"
	var all [rawPipeline]holding
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range all {
			w.showing[15] = byte(i)
			all[i] = holding{lock.Key("locking:", w.showing), uuid.NewString()}
			args := []any{all[i].owner, id, lockFor.Milliseconds(), lock.MaxNested}
			for _, seat := range w.seats {
				args = append(args, seat, "")
			}
			pipe.EvalSha(ctx, r.acquire, []string{all[i].key}, args...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	replies, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, h := range &all {
			args := []any{h.owner, id}
			for _, seat := range w.seats {
				args = append(args, seat)
			}
			pipe.EvalSha(ctx, r.release, []string{h.key}, args...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// {"released", token} and no seat behind it: all were held.
	if reply, ok := replies[0].(*redis.Cmd).Val().([]any); !ok || len(reply) != 2 {
		return errors.New("the raw scripts didn't hold what they locked")
	}
	return nil
}
