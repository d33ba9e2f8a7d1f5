package rows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
)

const (
	hotSeats     = 300
	stadiumSeats = 20_000
	// beyond is how long the clients go on when all is sold.
	beyond = 3 * time.Second
)

const (
	soldOut    measure.Figure = "sold out"
	p50Refusal measure.Figure = "p50 of a refusal"
	p99Refusal measure.Figure = "p99 of a refusal"
)

// Rush is the row of one showing that everybody wants.
func Rush(ctx context.Context, b *Bench) (measure.Report, error) {
	all, closeAll, err := b.entrants(ctx)
	if err != nil {
		return measure.Report{}, err
	}
	defer closeAll()
	sizes, after := []int{hotSeats, stadiumSeats}, beyond
	if b.Short {
		sizes, after = sizes[:1], b.Round
	}
	var tables []measure.Table
	for _, seats := range sizes {
		table, err := b.rush(ctx, all, seats, after)
		if err != nil {
			return measure.Report{}, err
		}
		tables = append(tables, table)
	}
	return measure.Report{
		Title: "A rush: one hot showing, and a stadium",
		About: fmt.Sprintf(`All %d clients want seats of the same showing. Each tries a pair that isn't sold yet as far as it knows, drawn at random; when it
loses it tries another. When everything is sold they go on trying for %s. "Refusals/s", their latencies and the processor time are of that last part.`, clients, after),
		Tables: tables,
	}, nil
}

func (b *Bench) rush(ctx context.Context, all []entrant, seats int, after time.Duration) (measure.Table, error) {
	contestants := make([]measure.Contestant, len(all))
	for i, e := range all {
		contestants[i] = measure.Contestant{Name: e.name, Round: func(ctx context.Context) (measure.Sample, error) {
			h := newHouse(1, seats)
			if err := e.booker.Prepare(ctx, h); err != nil {
				return nil, err
			}
			return rush(ctx, e.booker, h, after)
		}}
	}
	results, err := measure.Alternate(ctx, b.rounds(), contestants)
	if err != nil {
		return measure.Table{}, err
	}
	return measure.Table{
		Title: fmt.Sprintf("%d seats:", seats), Results: results, Main: soldOut, Ratios: rushRatios(results),
		Columns: []measure.Column{
			{Title: "sold out in", Figure: soldOut, Unit: measure.Seconds},
			{Title: "hold p50", Figure: p50Hold, Unit: measure.Seconds},
			{Title: "hold p99", Figure: p99Hold, Unit: measure.Seconds},
			{Title: "refusals/s", Figure: refusals},
			{Title: "refusal p50", Figure: p50Refusal, Unit: measure.Seconds},
			{Title: "refusal p99", Figure: p99Refusal, Unit: measure.Seconds},
			{Title: "here", Figure: measure.SelfCPU, Unit: measure.Cores},
			{Title: "PostgreSQL", Figure: measure.PostgresCPU, Unit: measure.Cores},
			{Title: "Redis", Figure: measure.RedisCPU, Unit: measure.Cores},
		},
	}, nil
}

func rushRatios(results []measure.Result) []measure.Ratio {
	own := results[0]
	var ratios []measure.Ratio
	best := results[1]
	for _, rival := range results[1:] {
		ratios = append(ratios, measure.Ratio{Claim: "faster to sold out than " + rival.Name, Value: measure.Against(rival, own, soldOut), Goal: 7})
		if rival.Median[refusals] > best.Median[refusals] {
			best = rival
		}
	}
	return append(ratios,
		measure.Ratio{Claim: "refusals/s against the best, " + best.Name, Value: measure.Against(own, best, refusals), Goal: 5},
		measure.Ratio{Claim: "p99 of a refusal against p50 of a hold", Value: own.Median[p99Refusal] / own.Median[p50Hold], Goal: 1, AtMost: true},
	)
}

// crowd is the clients of one showing, and what is left of it.
type crowd struct {
	booker  rivals.Booker
	showing uuid.UUID

	mu   sync.Mutex
	left []offer
	all  []offer
	// over is closed when the last pair is sold.
	over chan struct{}
}

// guest is one client and what it has seen.
type guest struct {
	session uuid.UUID
	holds   measure.Histogram
	// refusals are those after the showing was sold out.
	refusals measure.Histogram
}

// rush sells the house out and goes on for a while.
func rush(ctx context.Context, booker rivals.Booker, h rivals.House, after time.Duration) (measure.Sample, error) {
	all := offers(h)
	c := &crowd{booker: booker, showing: h.Showings[0], all: all, left: append([]offer(nil), all...), over: make(chan struct{})}
	guests := make([]guest, clients)
	began := time.Now()
	if err := c.each(ctx, guests, c.grab); err != nil {
		return nil, err
	}
	took := time.Since(began)
	sample := measure.Sample{}
	beyondTook, err := metered(sample, func() error {
		end := time.Now().Add(after)
		return c.each(ctx, guests, func(ctx context.Context, g *guest) error { return c.insist(ctx, g, end) })
	})
	if err != nil {
		return nil, err
	}
	var total guest
	for i := range guests {
		total.holds.Merge(&guests[i].holds)
		total.refusals.Merge(&guests[i].refusals)
	}
	sample[soldOut] = took.Seconds()
	sample[measure.Rate] = float64(len(all)) / took.Seconds()
	sample[p50Hold], sample[p99Hold] = total.holds.Quantile(0.5).Seconds(), total.holds.Quantile(0.99).Seconds()
	sample[refusals] = float64(total.refusals.Count()) / beyondTook.Seconds()
	sample[p50Refusal], sample[p99Refusal] = total.refusals.Quantile(0.5).Seconds(), total.refusals.Quantile(0.99).Seconds()
	return sample, nil
}

func (c *crowd) each(ctx context.Context, guests []guest, do func(context.Context, *guest) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range guests {
		g := &guests[i]
		if g.session == uuid.Nil {
			g.session = uuid.New()
		}
		group.Go(func() error { return do(ctx, g) })
	}
	return group.Wait()
}

// grab buys until nothing is left.
func (c *crowd) grab(ctx context.Context, g *guest) error {
	for ctx.Err() == nil {
		o, ok := c.draw()
		if !ok {
			return nil
		}
		began := time.Now()
		id, err := c.booker.Hold(ctx, g.session, o.showing, o.seats)
		if errors.Is(err, rivals.ErrTaken) {
			continue
		}
		if err != nil {
			return err
		}
		g.holds.Add(time.Since(began))
		if err := c.booker.Confirm(ctx, g.session, id); err != nil {
			return err
		}
		c.sold(o)
	}
	return ctx.Err()
}

// insist asks for seats that are sold.
func (c *crowd) insist(ctx context.Context, g *guest, end time.Time) error {
	for time.Now().Before(end) {
		o := c.all[rand.IntN(len(c.all))] //nolint:gosec // Any seat does.
		began := time.Now()
		_, err := c.booker.Hold(ctx, g.session, o.showing, o.seats)
		if !errors.Is(err, rivals.ErrTaken) {
			return fmt.Errorf("seats %v were sold, and the answer was: %w", o.seats, err)
		}
		g.refusals.Add(time.Since(began))
	}
	return nil
}

// draw is a pair that isn't sold yet; false when all are.
func (c *crowd) draw() (offer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.left) == 0 {
		return offer{}, false
	}
	return c.left[rand.IntN(len(c.left))], true //nolint:gosec // Guests choose as they like.
}

func (c *crowd) sold(o offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.left {
		if &c.left[i].seats[0] == &o.seats[0] {
			c.left[i] = c.left[len(c.left)-1]
			c.left = c.left[:len(c.left)-1]
			return
		}
	}
}
