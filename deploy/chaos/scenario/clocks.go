package scenario

import (
	"context"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

func clocks() []Scenario {
	return []Scenario{
		{
			Name: "redis-clock", What: "Redis' clock jumps an hour ahead, an hour back, and is set right",
			Set: func(c *fleet.Config) { c.RedisClock = true }, Break: jumpRedis,
		},
		{
			Name: "replica-clock", What: "one replica's clock is 30 s ahead, another's 30 s behind, all the time", Shifted: true,
			Set: func(c *fleet.Config) {
				c.ReplicaClock = map[int]time.Duration{0: 30 * time.Second, 1: -30 * time.Second}
			},
			Break: func(ctx context.Context, r *Run) error { return r.Wait(ctx, 8*time.Second) },
		},
	}
}

func jumpRedis(ctx context.Context, r *Run) error {
	for _, offset := range []time.Duration{time.Hour, -time.Hour, 0} {
		if err := r.Fleet.MoveRedisClock(offset); err != nil {
			return err
		}
		r.Forgotten() // whatever had a time to live may be gone
		if err := r.Wait(ctx, r.Between(2*time.Second, 4*time.Second)); err != nil {
			return err
		}
	}
	r.Forgotten()
	return nil
}
