package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

// leaders are the faults of the leader and of its lines to the stores.
func leaders() []Scenario {
	return []Scenario{
		{Name: "leader-killed", What: "kill -9 of the leader; it is started again after its lease", Row: "leader", SalesGoOn: true, Break: killLeader},
		{
			Name: "leader-stopped", What: "the leader is stopped with writes to Redis on their way for 8 s, replaced, and goes on",
			Short: true, Break: stopLeader,
		},
		{Name: "leader-cut-off-etcd", What: "the leader is cut off from etcd, and from nothing else, for 9 s", Break: cutLeaderOff},
		{
			Name: "replica-partitioned", What: "a replica's network is gone for 4–6 s, packets and all; then the leader's",
			Set: func(c *fleet.Config) { c.Namespaces = true }, Break: partition,
		},
	}
}

// Leader waits for one.
func (r *Run) Leader(ctx context.Context) (leader *fleet.Replica, err error) {
	err = r.Until(ctx, 20*time.Second, "a leader", func() bool {
		leader = r.Fleet.Leader(ctx)
		return leader != nil
	})
	return leader, err
}

// leads says whether a replica says so.
func leads(ctx context.Context, replica *fleet.Replica) bool {
	value, err := replica.Metric(ctx, "aisle_leader")
	return err == nil && value == 1
}

// another waits for a leader who is not the old one.
func (r *Run) another(ctx context.Context, old *fleet.Replica) error {
	began := time.Now()
	err := r.Until(ctx, 20*time.Second, "another leader", func() bool {
		for _, replica := range r.Fleet.Replicas() {
			if replica != old && replica.Alive() && leads(ctx, replica) {
				return true
			}
		}
		return false
	})
	r.Say("another leader after %v", time.Since(began))
	return err
}

func killLeader(ctx context.Context, r *Run) error {
	leader, err := r.Leader(ctx)
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	r.sees(ctx) // nobody leads yet
	if err := r.another(ctx, leader); err != nil {
		return err
	}
	r.shows(ctx, false)
	r.sees(ctx)
	return leader.Start(ctx)
}

// stopLeader has the old leader's writes come after those of its successor: they are in the line, 8 s long, when it is
// stopped.
func stopLeader(ctx context.Context, r *Run) error {
	const late = 8 * time.Second
	leader, err := r.Leader(ctx)
	if err != nil {
		return err
	}
	leader.Link(fleet.Redis).Delay(late, 0)
	began := time.Now()
	if err := r.Wait(ctx, r.Between(200*time.Millisecond, 900*time.Millisecond)); err != nil {
		return err
	}
	if err := leader.Pause(ctx); err != nil {
		return err
	}
	if err := r.another(ctx, leader); err != nil {
		return err
	}
	if err := r.Wait(ctx, time.Until(began.Add(late+2*time.Second))); err != nil {
		return err
	}
	if err := leader.Link(fleet.Redis).Mend(); err != nil {
		return err
	}
	return leader.Resume()
}

// cutLeaderOff also looks whether the old leader stops before the new one begins.
func cutLeaderOff(ctx context.Context, r *Run) error {
	leader, err := r.Leader(ctx)
	if err != nil {
		return err
	}
	leader.Link(fleet.Etcd).Cut()
	if err := r.another(ctx, leader); err != nil {
		return err
	}
	// The new one said so first: had both led, the old one would still say so.
	r.Expect(!leads(ctx, leader), AsPromised, "%s leads on while another does", leader.Name)
	if err := r.Wait(ctx, 3*time.Second); err != nil {
		return err
	}
	return leader.Link(fleet.Etcd).Mend()
}

func partition(ctx context.Context, r *Run) error {
	leader, err := r.Leader(ctx)
	if err != nil {
		return err
	}
	other := r.Fleet.Replicas()[(leader.Number+1)%len(r.Fleet.Replicas())]
	for _, replica := range []*fleet.Replica{other, leader} {
		if err := replica.Partition(ctx); err != nil {
			return fmt.Errorf("%s: %w", replica.Name, err)
		}
		r.Say("partitioned %s", replica.Name)
		// No longer: a line that has waited longer for an answer sends again only after as long a pause.
		if err := r.Wait(ctx, r.Between(4*time.Second, 6*time.Second)); err != nil {
			return err
		}
		if err := replica.Rejoin(ctx); err != nil {
			return err
		}
	}
	return nil
}
