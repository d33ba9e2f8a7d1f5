package scenario

import (
	"context"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

func etcds() []Scenario {
	return []Scenario{
		{Name: "etcd-gone", What: "all of etcd is gone for a minute", Row: "etcd, all of it", SalesGoOn: true, Break: etcdGone},
		{Name: "etcd-compacted", What: "watches reconnect to an etcd whose history was compacted past them, three times", Break: compactEtcd},
	}
}

func etcdGone(ctx context.Context, r *Run) error {
	if err := r.Fleet.StopEtcd(ctx); err != nil {
		return err
	}
	if err := r.Wait(ctx, time.Minute); err != nil {
		return err
	}
	r.shows(ctx, false)
	r.sees(ctx)
	if err := r.Fleet.StartEtcd(ctx); err != nil {
		return err
	}
	_, err := r.Leader(ctx)
	return err
}

// compactEtcd cuts a replica off, lets the leader write summaries, and compacts them away before the replica is back.
func compactEtcd(ctx context.Context, r *Run) error {
	for range 3 {
		link := r.AnyReplica().Link(fleet.Etcd)
		link.Cut()
		if err := r.Wait(ctx, r.Between(1200*time.Millisecond, 2*time.Second)); err != nil {
			return err
		}
		if err := r.Fleet.CompactEtcd(ctx); err != nil {
			return err
		}
		if err := link.Mend(); err != nil {
			return err
		}
		if err := r.Wait(ctx, time.Second); err != nil {
			return err
		}
	}
	_, err := r.Leader(ctx)
	return err
}
