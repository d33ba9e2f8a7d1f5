package scenario

import (
	"context"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// Soak is no fault at all, for a long time: what a replica uses must stay as it was.
func Soak(long time.Duration) Scenario {
	return Scenario{
		Name: "soak", What: "buyers and watchers come and go for " + long.String(),
		Clients: func(c *Config) {
			// What a replica remembers of a showing grows with the seats that are sold, and rightly: so nearly all of them
			// think better of it, and what stays the same must stay the same.
			c.Think, c.Confirms, c.Showings = 250*time.Millisecond, 2, 100
		},
		Break: func(ctx context.Context, r *Run) error { return r.soak(ctx, long) },
	}
}

// soak samples each replica throughout. The first third is for warming up; then the last third is compared with the one
// before.
func (r *Run) soak(ctx context.Context, long time.Duration) error {
	var thirds [3][]map[string]judge.Sample
	began := time.Now()
	for time.Since(began) < long {
		if err := r.Wait(ctx, max(long/240, time.Second)); err != nil {
			return err
		}
		sample, err := r.samples(ctx)
		if err != nil {
			return err
		}
		third := min(int(3*time.Since(began)/long), 2)
		thirds[third] = append(thirds[third], sample)
		r.Say("%+v", sample)
	}
	grown := judge.Growth(mean(thirds[1]), mean(thirds[2]), judge.SoakSlack())
	r.note(grown...)
	return nil
}

func mean(samples []map[string]judge.Sample) map[string]judge.Sample {
	all := map[string]judge.Sample{}
	n := max(len(samples), 1)
	for _, sample := range samples {
		for name, s := range sample {
			sum := all[name]
			all[name] = judge.Sample{Goroutines: sum.Goroutines + s.Goroutines, FDs: sum.FDs + s.FDs, RSS: sum.RSS + s.RSS, Heap: sum.Heap + s.Heap}
		}
	}
	for name, s := range all {
		all[name] = judge.Sample{Goroutines: s.Goroutines / n, FDs: s.FDs / n, RSS: s.RSS / int64(n), Heap: s.Heap / int64(n)}
	}
	return all
}
