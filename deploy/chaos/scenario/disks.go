package scenario

import (
	"context"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

// disks are full disks: a small one of memory, filled up.
func disks() []Scenario {
	return []Scenario{
		{
			Name: "postgres-disk-full", What: "PostgreSQL's disk is full for 5–8 s",
			Set: func(c *fleet.Config) { c.PostgresDisk = 512 << 20 }, Break: fullDisk(fleet.Postgres),
		},
		{
			Name: "redis-disk-full", What: "Redis' disk is full for 5–8 s, so that Redis refuses to write",
			Set: func(c *fleet.Config) { c.RedisDisk = 32 << 20 }, Break: fullDisk(fleet.Redis),
		},
	}
}

func fullDisk(store fleet.Store) func(context.Context, *Run) error {
	return func(ctx context.Context, r *Run) error {
		if err := r.Fleet.FillDisk(store); err != nil {
			return err
		}
		if err := r.Wait(ctx, r.Between(5*time.Second, 8*time.Second)); err != nil {
			return err
		}
		return r.Fleet.FreeDisk(ctx, store)
	}
}
