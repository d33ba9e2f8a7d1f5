package rows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
)

const (
	// clients buy at the same time.
	clients = 64
	// The house that is sold from.
	sellShowings = 200
	sellSeats    = 300
	// greedy is how often a client also wants seats that were offered to another before: one booking in so many.
	greedy = 20
)

// p50Hold and p99Hold are the latencies of holds alone; refusals is how many were told that seats are taken, a second.
const (
	p50Hold  measure.Figure = "p50 of a hold"
	p99Hold  measure.Figure = "p99 of a hold"
	refusals measure.Figure = "refusals"
)

// Selling is the row of the engines in this process.
func Selling(ctx context.Context, b *Bench) (measure.Report, error) {
	all, closeAll, err := b.entrants(ctx)
	if err != nil {
		return measure.Report{}, err
	}
	defer closeAll()
	results, err := measure.Alternate(ctx, b.rounds(), b.sellers(all))
	if err != nil {
		return measure.Report{}, err
	}
	return measure.Report{
		Title: "Selling: the engine in process",
		About: fmt.Sprintf(`%d clients hold 2 neighbouring seats and confirm them, over and over, at %d showings of %d seats; one booking in %d is
followed by an attempt to take seats that were offered to somebody else. Every hold and every sale is on disk before it is answered. Aisle's
engine runs as a replica runs it, with its projector, in this process; so do the rivals, each with %d connections. p50 and p99 are of a whole booking, hold and
confirm. Processor time is in cores: "here" is this process with the engine and the clients.`, clients, sellShowings, sellSeats, greedy, rivals.Pool),
		Tables: []measure.Table{{
			Main: measure.Rate, Results: results, Ratios: sellingRatios(results, 8, 5, 1.0/6),
			Columns: append([]measure.Column{{Title: "bookings/s", Figure: measure.Rate}}, sellColumns("here")...),
		}},
	}, nil
}

// sellColumns are those of every row that sells; self is what this process is called.
func sellColumns(self string) []measure.Column {
	return []measure.Column{
		{Title: "p50", Figure: measure.P50, Unit: measure.Seconds},
		{Title: "p99", Figure: measure.P99, Unit: measure.Seconds},
		{Title: "hold p50", Figure: p50Hold, Unit: measure.Seconds},
		{Title: "hold p99", Figure: p99Hold, Unit: measure.Seconds},
		{Title: "refusals/s", Figure: refusals},
		{Title: self, Figure: measure.SelfCPU, Unit: measure.Cores},
		{Title: "PostgreSQL", Figure: measure.PostgresCPU, Unit: measure.Cores},
		{Title: "Redis", Figure: measure.RedisCPU, Unit: measure.Cores},
	}
}

// sellingRatios compares the first result with all others: bookings/s against those that lock rows or seats and against
// plpgsql, and, unless tail is 0, p99 against the first rival.
func sellingRatios(results []measure.Result, rows, procedure, tail float64) []measure.Ratio {
	var ratios []measure.Ratio
	for i, rival := range results[1:] {
		goal := rows
		if i == len(results)-2 {
			goal = procedure
		}
		ratios = append(ratios, measure.Ratio{Claim: "bookings/s against " + rival.Name, Value: measure.Against(results[0], rival, measure.Rate), Goal: goal})
	}
	if tail > 0 {
		ratios = append(ratios, measure.Ratio{
			Claim: "p99 against " + results[1].Name, Value: measure.Against(results[0], results[1], measure.P99), Goal: tail, AtMost: true,
		})
	}
	return ratios
}

func (b *Bench) sellers(all []entrant) []measure.Contestant {
	contestants := make([]measure.Contestant, len(all))
	for i, e := range all {
		contestants[i] = measure.Contestant{Name: e.name, Round: func(ctx context.Context) (measure.Sample, error) {
			h := newHouse(sellShowings, sellSeats)
			if err := e.booker.Prepare(ctx, h); err != nil {
				return nil, err
			}
			return sell(ctx, same(e.booker), h, b.Round)
		}}
	}
	return contestants
}

// offer is two seats of a showing.
type offer struct {
	showing uuid.UUID
	seats   []string
}

// offers are all pairs of the house, in an order that is the same for everybody.
func offers(h rivals.House) []offer {
	var all []offer
	for _, showing := range h.Showings {
		for i := 0; i+1 < len(h.Seats); i += 2 {
			all = append(all, offer{showing, h.Seats[i : i+2]})
		}
	}
	order := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The same order for all is what is wanted.
	order.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all
}

// seller is one client and what it has seen.
type seller struct {
	booker  rivals.Booker
	session uuid.UUID
	sold    int
	refused int
	whole   measure.Histogram
	holds   measure.Histogram
}

// same lets all clients use one Booker.
func same(booker rivals.Booker) func(client int) rivals.Booker {
	return func(int) rivals.Booker { return booker }
}

// sell lets all clients buy, each from its own Booker, for so long, or until nothing is left that wasn't offered.
func sell(ctx context.Context, bookerOf func(client int) rivals.Booker, h rivals.House, span time.Duration) (measure.Sample, error) {
	all := offers(h)
	var next atomic.Int64
	sellers := make([]seller, clients)
	sample := measure.Sample{}
	took, err := metered(sample, func() error {
		end := time.Now().Add(span)
		group, ctx := errgroup.WithContext(ctx)
		for i := range sellers {
			s := &sellers[i]
			s.booker, s.session = bookerOf(i), uuid.New()
			group.Go(func() error { return s.run(ctx, all, &next, end) })
		}
		return group.Wait()
	})
	if err != nil {
		return nil, err
	}
	var total seller
	for i := range sellers {
		s := &sellers[i]
		total.sold += s.sold
		total.refused += s.refused
		total.whole.Merge(&s.whole)
		total.holds.Merge(&s.holds)
	}
	sample[measure.Rate] = float64(total.sold) / took.Seconds()
	sample[refusals] = float64(total.refused) / took.Seconds()
	sample.Latency(&total.whole)
	sample[p50Hold], sample[p99Hold] = total.holds.Quantile(0.5).Seconds(), total.holds.Quantile(0.99).Seconds()
	return sample, nil
}

func (s *seller) run(ctx context.Context, all []offer, next *atomic.Int64, end time.Time) error {
	for time.Now().Before(end) {
		n := int(next.Add(1)) - 1
		if n >= len(all) {
			return nil
		}
		if err := s.buy(ctx, all[n]); err != nil {
			return err
		}
		if n%greedy == 0 && n > clients {
			if err := s.buy(ctx, all[n-clients]); err != nil {
				return err
			}
		}
	}
	return nil
}

// buy holds and confirms; a refusal is no error.
func (s *seller) buy(ctx context.Context, o offer) error {
	began := time.Now()
	id, err := s.booker.Hold(ctx, s.session, o.showing, o.seats)
	if errors.Is(err, rivals.ErrTaken) {
		s.refused++
		return nil
	}
	if err != nil {
		return err
	}
	s.holds.Add(time.Since(began))
	if err := s.booker.Confirm(ctx, s.session, id); err != nil {
		return err
	}
	s.whole.Add(time.Since(began))
	s.sold++
	return nil
}
