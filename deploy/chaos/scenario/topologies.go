package scenario

import (
	"context"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

// topologies are the faults of a Redis that is more than one server.
func topologies() []Scenario {
	sentinel := func(c *fleet.Config) { c.Redis = fleet.SentinelRedis }
	cluster := func(c *fleet.Config) { c.Redis = fleet.ClusterRedis }
	return []Scenario{
		{
			Name: "sentinel-failover", What: "Sentinel fails over to a replica that lags, so that writes which Redis had acknowledged are lost",
			Set: sentinel, Break: failOver,
		},
		{Name: "cluster-primary-killed", What: "kill -9 of the Redis Cluster primary that has the busiest showing", Set: cluster, Break: killPrimary},
		{
			Name: "cluster-resharded", What: "the slot of the busiest showing moves to another primary of the Redis Cluster, key by key, twice",
			Set: cluster, Break: reshard,
		},
	}
}

func failOver(ctx context.Context, r *Run) error {
	sentinel := r.Fleet.Sentinel()
	if err := sentinel.DelayReplica(ctx); err != nil {
		return err
	}
	if err := r.Wait(ctx, r.Between(500*time.Millisecond, 1500*time.Millisecond)); err != nil {
		return err
	}
	r.Forgotten()
	dead, err := sentinel.KillMaster(ctx)
	if err != nil {
		return err
	}
	master, err := sentinel.AwaitMaster(ctx, dead)
	if err != nil {
		return err
	}
	r.Say("%s is dead, %s is the master", dead, master)
	if err := r.Wait(ctx, 2*time.Second); err != nil {
		return err
	}
	r.Forgotten()
	return sentinel.StartNode(ctx, dead)
}

func killPrimary(ctx context.Context, r *Run) error {
	hot, err := r.HotShowing(ctx)
	if err != nil {
		return err
	}
	cluster := r.Fleet.Cluster()
	r.Forgotten()
	dead, err := cluster.KillPrimary(ctx, snapshotKey(hot))
	if err != nil {
		return err
	}
	primary, err := cluster.AwaitPrimary(ctx, snapshotKey(hot), dead)
	if err != nil {
		return err
	}
	r.Say("%s is dead, %s took over", dead, primary)
	if err := r.Wait(ctx, 2*time.Second); err != nil {
		return err
	}
	r.Forgotten()
	return cluster.StartNode(ctx, dead)
}

func reshard(ctx context.Context, r *Run) error {
	hot, err := r.HotShowing(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		from, to, err := r.Fleet.Cluster().Reshard(ctx, snapshotKey(hot))
		if err != nil {
			return err
		}
		r.Say("moved from %s to %s", from, to)
		if err := r.Wait(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}
