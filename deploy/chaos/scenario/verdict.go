package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

const (
	// calmDown is how long a replica may take to give back what its clients cost it.
	calmDown = 15 * time.Second
)

// compare waits until each watcher shows what the log says. What counts is when the maps were as they should be, not
// when the judge, who reads the whole log for it, has found that out.
func (r *Run) compare(ctx context.Context, repaired time.Time) error {
	conn, err := pgx.Connect(ctx, r.Fleet.Postgres())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // only read from
	for {
		heads, err := readHeads(ctx, conn)
		if err != nil {
			return err
		}
		seen, at := views(r.watchers), time.Since(repaired)
		late := at > r.Config.Within+r.Config.GiveUp
		behind := slices.ContainsFunc(seen, func(v judge.View) bool { return v.Seq != heads[v.Showing] || v.Stale })
		if behind && !late {
			if err := r.Wait(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		maps, err := judge.Maps(ctx, conn)
		if err != nil {
			return err
		}
		if moved(heads, maps) {
			continue // a hold ran out meanwhile
		}
		wrong := judge.Watchers(seen, maps)
		if len(wrong) == 0 {
			r.report.RightAfter = at
			r.Expect(at <= r.Config.Within, judge.WatchersRight, "the last watcher was right only %v after the repair", at)
			return r.snapshots(ctx, conn)
		}
		if late {
			r.note(wrong...)
			return nil
		}
		if err := r.Wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// moved says whether a showing is not where it was.
func moved(heads map[uuid.UUID]int64, maps map[uuid.UUID]judge.Map) bool {
	for id, m := range maps {
		if heads[id] != m.Seq {
			return true
		}
	}
	return false
}

// snapshots compares those in Redis with the log. A showing may change in between: what is wrong once is looked at again.
func (r *Run) snapshots(ctx context.Context, conn *pgx.Conn) error {
	if r.Fleet.RedisClient() == nil {
		return nil
	}
	var wrong []judge.Violation
	for deadline := time.Now().Add(r.Config.Within); ; {
		maps, err := judge.Maps(ctx, conn)
		if err != nil {
			return err
		}
		if wrong, err = r.observer.Snapshots(ctx, maps, r.Config.LeaderTTL); err != nil {
			return err
		}
		if len(wrong) == 0 || time.Now().After(deadline) {
			break
		}
		if err := r.Wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	r.note(wrong...)
	return nil
}

// samples are what the running replicas use now.
func (r *Run) samples(ctx context.Context) (map[string]judge.Sample, error) {
	all := map[string]judge.Sample{}
	for _, replica := range r.Fleet.Replicas() {
		if !replica.Alive() {
			continue
		}
		s, err := replica.Sample(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", replica.Name, err)
		}
		all[replica.Name] = judge.Sample(s)
	}
	return all, nil
}

// growth waits until the replicas have given back what their clients cost them.
func (r *Run) growth(ctx context.Context, base map[string]judge.Sample) error {
	deadline := time.Now().Add(calmDown)
	for {
		now, err := r.samples(ctx)
		if err != nil {
			return err
		}
		grown := judge.Growth(base, now, judge.DefaultSlack())
		if len(grown) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			r.note(grown...)
			return nil
		}
		if err := r.Wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// judge puts everything that was seen before the judge.
func (r *Run) judge(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, r.Fleet.Postgres())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // only read from
	ops := r.History.Ops()
	for i := range ops {
		if !r.lostUntil.IsZero() && ops[i].Call.Before(r.lostUntil) && ops[i].Call.After(r.lostUntil.Add(-noticed)) {
			ops[i].Conflicts = nil
		}
	}
	inLog, summary, err := judge.Log(ctx, conn, ops)
	if err != nil {
		return err
	}
	r.report.Operations, r.report.Events = len(ops), summary.Events
	stats := r.watchers.Stats()
	r.report.Watchers, r.report.Reconnects, r.report.Gaps, r.report.Messages = r.Config.Watchers, stats.Reconnects, stats.Gaps, stats.Messages
	seen := r.watchers.Violations()
	for _, b := range r.before {
		seen = append(seen, b.Violations()...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Violations = slices.Concat(r.expected, judge.Seats(ops, r.Config.HoldFor), inLog, r.observer.Violations())
	for _, v := range seen {
		r.report.Violations = append(r.report.Violations, judge.Violation{Invariant: v.Invariant, Detail: v.Detail})
	}
	return nil
}

// views are the watchers' maps as the judge takes them.
func views(w *client.Watchers) []judge.View {
	var all []judge.View
	for _, v := range w.Views() {
		all = append(all, judge.View(v))
	}
	return all
}
