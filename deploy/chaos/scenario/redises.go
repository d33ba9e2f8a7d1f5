package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

func redises() []Scenario {
	return []Scenario{
		{
			Name: "redis-killed", What: "kill -9 of Redis; it is gone for 10 s and comes back empty", Row: "Redis, all of it", SalesGoOn: true,
			Short: true, Break: killRedis,
		},
		{Name: "redis-forgets", What: "Redis loses all it has, ten times, under load", Break: flushRedis},
		{Name: "script-flush", What: "SCRIPT FLUSH twenty times a second for 5 s", Break: flushScripts},
		{Name: "redis-reply-cut", What: "Redis runs a script and its reply is cut, 60 times, on all replicas", Break: cutRedisReplies},
		{Name: "pubsub-killed", What: "CLIENT KILL TYPE pubsub ten times a second for 5 s", Short: true, Break: killPubSub},
		{Name: "redis-hangs", What: "Redis neither answers nor refuses, for 6 s", Break: hangRedis},
	}
}

func killRedis(ctx context.Context, r *Run) error {
	if err := r.Fleet.KillRedis(); err != nil {
		return err
	}
	r.Forgotten()
	if err := r.Wait(ctx, 10*time.Second); err != nil {
		return err
	}
	r.shows(ctx, false)
	r.sees(ctx)
	if err := r.Fleet.StartRedis(ctx); err != nil {
		return err
	}
	r.Forgotten()
	return nil
}

// every does something at an interval for a while.
func (r *Run) every(ctx context.Context, interval, long time.Duration, do func(context.Context) error) error {
	for end := time.Now().Add(long); time.Now().Before(end); {
		if err := do(ctx); err != nil {
			return err
		}
		if err := r.Wait(ctx, interval); err != nil {
			return err
		}
	}
	return nil
}

func flushRedis(ctx context.Context, r *Run) error {
	return r.every(ctx, 500*time.Millisecond, 5*time.Second, func(ctx context.Context) error {
		defer r.Forgotten()
		return r.Fleet.RedisClient().FlushAll(ctx).Err()
	})
}

func flushScripts(ctx context.Context, r *Run) error {
	return r.every(ctx, 50*time.Millisecond, 5*time.Second, func(ctx context.Context) error {
		return r.Fleet.RedisClient().ScriptFlush(ctx).Err()
	})
}

func killPubSub(ctx context.Context, r *Run) error {
	return r.every(ctx, 100*time.Millisecond, 5*time.Second, func(ctx context.Context) error {
		return r.Fleet.RedisClient().Do(ctx, "CLIENT", "KILL", "TYPE", "pubsub").Err()
	})
}

func cutRedisReplies(ctx context.Context, r *Run) error { return r.cutReplies(ctx, fleet.Redis) }

// cutReplies cuts the reply of up to 60 calls, some here, some there.
func (r *Run) cutReplies(ctx context.Context, store fleet.Store) error {
	const rounds, each = 10, 2
	left := 0
	for range rounds {
		for _, replica := range r.Fleet.Replicas() {
			left += replica.Link(store).CutReplies(each)
		}
		if err := r.Wait(ctx, r.Between(300*time.Millisecond, 700*time.Millisecond)); err != nil {
			return err
		}
	}
	for _, replica := range r.Fleet.Replicas() {
		left += replica.Link(store).CutReplies(0)
		if err := replica.Link(store).Mend(); err != nil {
			return err
		}
	}
	all := rounds * each * len(r.Fleet.Replicas())
	r.Say("cut %d of %d replies", all-left, all)
	if left > all/2 {
		return fmt.Errorf("only %d of %d replies could be cut", all-left, all)
	}
	return nil
}

func hangRedis(ctx context.Context, r *Run) error {
	for _, replica := range r.Fleet.Replicas() {
		replica.Link(fleet.Redis).Hang()
	}
	if err := r.Wait(ctx, 6*time.Second); err != nil {
		return err
	}
	for _, replica := range r.Fleet.Replicas() {
		if err := replica.Link(fleet.Redis).Mend(); err != nil {
			return err
		}
	}
	return nil
}
