package scenario

import (
	"context"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

const (
	// acceptedWithin bounds what a customer waits who is served although three times too many came: the second that a
	// command may wait for its turn, and its work.
	acceptedWithin = 3 * time.Second
	// shedWithin bounds what one waits who is sent away.
	shedWithin = 2 * time.Second
	// recoveredWithin bounds an answer once no more come than can be served.
	recoveredWithin = time.Second
)

func overloads() []Scenario {
	return []Scenario{{
		Name: "overload", What: "three times as many purchases a second as one replica can serve, for 10 s",
		Set: func(c *fleet.Config) { c.Replicas = 1 },
		Clients: func(c *Config) {
			c.Replicas, c.Watchers, c.Showings = 1, min(c.Watchers, 200), 200
		},
		Break: overload,
	}}
}

// overload first measures what a replica can do: as many purchases as 64 customers get through who wait for each answer.
func overload(ctx context.Context, r *Run) error {
	if err := r.StopBuyers(ctx); err != nil {
		return err
	}
	load := client.LoadConfig{Replicas: r.Fleet.URLs, Seed: r.Config.Seed, Sold: 0.5}
	load.Rate, load.For, load.InFlight = 10_000, 4*time.Second, 64
	can, err := client.Load(ctx, load, r.History)
	if err != nil {
		return err
	}
	// A purchase is two commands.
	capacity := float64(can.Total.Accepted.Count) / 2 / load.For.Seconds()
	r.Say("one replica serves %.0f purchases a second: %+v", capacity, can.Total)

	load.Rate, load.For, load.InFlight = 3*capacity, 10*time.Second, 8192
	over, err := client.Load(ctx, load, r.History)
	if err != nil {
		return err
	}
	r.Say("of three times as many: %+v", over.Total)
	r.Expect(over.Total.Failed.Count == 0, judge.Bounded, "%d requests failed otherwise than by 429 or 503", over.Total.Failed.Count)
	r.Expect(over.Total.Accepted.P99 <= acceptedWithin, judge.Bounded, "one in a hundred who were served waited over %v", over.Total.Accepted.P99)
	r.Expect(over.Total.Shed.P99 <= shedWithin, judge.Bounded, "one in a hundred who were sent away waited over %v", over.Total.Shed.P99)
	served := float64(over.Total.Accepted.Count) / 2 / load.For.Seconds()
	r.Expect(served >= capacity/3, judge.Bounded, "of %.0f purchases a second only %.0f are served under overload", capacity, served)

	load.Rate, load.For = capacity/3, 3*time.Second
	calm, err := client.Load(ctx, load, r.History)
	if err != nil {
		return err
	}
	r.Say("afterwards: %+v", calm.Total)
	r.Expect(calm.Total.Shed.Count == 0 && calm.Total.Failed.Count == 0, judge.Bounded, "after the overload %d were sent away, %d failed", calm.Total.Shed.Count, calm.Total.Failed.Count)
	r.Expect(calm.Total.Accepted.P99 <= recoveredWithin, judge.Bounded, "after the overload one in a hundred waited over %v", calm.Total.Accepted.P99)
	return r.StartBuyers(ctx)
}
