package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/cmd/aislebench/engine"
	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
)

const (
	// eventsOf is how many events a booking of two seats has: three when it is held, three when it is confirmed.
	eventsOf = 6
	// load is the share of the full load at which the lag is judged.
	load = 0.8
)

const (
	appended measure.Figure = "appended"
	lagP50   measure.Figure = "lag p50"
	lagP99   measure.Figure = "lag p99"
)

// Projecting is the row of the projector.
func Projecting(ctx context.Context, b *Bench) (measure.Report, error) {
	results, err := measure.Alternate(ctx, measure.Rounds{Warmup: 1, Measured: b.Measured, Before: b.Stores.Settle, Told: b.told}, []measure.Contestant{
		{Name: "catching up", Round: b.catchUp},
	})
	if err != nil {
		return measure.Report{}, err
	}
	lags, err := b.lags(ctx)
	if err != nil {
		return measure.Report{}, err
	}
	return measure.Report{
		Title: "Projecting",
		About: fmt.Sprintf(`First the engine sells from %d showings without a projector, as fast as it can; then a projector starts and brings all snapshots up to the log's heads: its rate
against that of the appends. It joins what waits, so that it is the faster the more it is behind. Then the engine sells with a projector, as fast as it can and at %.0f %% of that: the lag is how old the latest event of a
write to Redis was when it was written and published.`, sellShowings, load*100),
		Tables: []measure.Table{
			{
				Title: "Catching up:", Main: measure.Rate, Results: results,
				Columns: []measure.Column{{Title: "events/s projected", Figure: measure.Rate}, {Title: "events/s appended", Figure: appended}},
				Ratios:  []measure.Ratio{{Claim: "projected against appended", Value: results[0].Median[measure.Rate] / results[0].Median[appended], Goal: 2}},
			},
			{
				Title: "Keeping up:", Main: lagP99, Results: lags,
				Columns: []measure.Column{
					{Title: "bookings/s", Figure: measure.Rate},
					{Title: "lag p50", Figure: lagP50, Unit: measure.Seconds},
					{Title: "lag p99", Figure: lagP99, Unit: measure.Seconds},
					{Title: "here", Figure: measure.SelfCPU, Unit: measure.Cores},
					{Title: "PostgreSQL", Figure: measure.PostgresCPU, Unit: measure.Cores},
					{Title: "Redis", Figure: measure.RedisCPU, Unit: measure.Cores},
				},
				Ratios: []measure.Ratio{{Claim: "p99 of the lag at 80 % load, in ms", Value: lags[1].Median[lagP99] * 1e3, Goal: 20, AtMost: true}},
			},
		},
	}, nil
}

// catchUp sells without a projector, then lets one catch up.
func (b *Bench) catchUp(ctx context.Context) (measure.Sample, error) {
	e, err := b.engine(ctx, engine.Config{WithoutProjector: true})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	h := newHouse(sellShowings, sellSeats)
	if err := e.Prepare(ctx, h); err != nil {
		return nil, err
	}
	sold, err := sell(ctx, same(e), h, b.Round)
	if err != nil {
		return nil, err
	}
	heads, err := e.Log().Heads(ctx, h.Showings)
	if err != nil {
		return nil, err
	}
	events, behind := int64(0), map[uuid.UUID]int64{}
	for showing, position := range heads.Positions {
		events += position.Seq
		behind[showing] = position.Seq
	}
	began := time.Now()
	if err := project(ctx, e, behind); err != nil {
		return nil, err
	}
	return measure.Sample{measure.Rate: float64(events) / time.Since(began).Seconds(), appended: eventsOf * sold[measure.Rate]}, nil
}

// project runs a projector until each showing has come to its head.
func project(ctx context.Context, e *engine.Engine, behind map[uuid.UUID]int64) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var mu sync.Mutex
	err := e.Project(ctx, func(showing uuid.UUID, s seatmap.Summary) {
		mu.Lock()
		defer mu.Unlock()
		if head, ok := behind[showing]; ok && s.Seq >= head {
			delete(behind, showing)
		}
		if len(behind) == 0 {
			end()
		}
	})
	if err == nil && len(behind) > 0 {
		err = errors.New("the projector ended before it was done")
	}
	return err
}

// lags sells at full load and at a share of it.
func (b *Bench) lags(ctx context.Context) ([]measure.Result, error) {
	var (
		mu  sync.Mutex
		lag measure.Histogram
	)
	e, err := b.engine(ctx, engine.Config{OnWrite: func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		lag.Add(d)
	}})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	full := 0.0
	round := func(share float64) func(context.Context) (measure.Sample, error) {
		return func(ctx context.Context) (measure.Sample, error) {
			h := newHouse(sellShowings, sellSeats)
			if err := e.Prepare(ctx, h); err != nil {
				return nil, err
			}
			var booker rivals.Booker = e
			if share < 1 {
				booker = paced{e, rate.NewLimiter(rate.Limit(share*full), clients/4)}
			}
			mu.Lock()
			lag = measure.Histogram{}
			mu.Unlock()
			s, err := sell(ctx, same(booker), h, b.Round)
			if err != nil {
				return nil, err
			}
			if share == 1 {
				full = s[measure.Rate]
			}
			mu.Lock()
			defer mu.Unlock()
			s[lagP50], s[lagP99] = lag.Quantile(0.5).Seconds(), lag.Quantile(0.99).Seconds()
			return s, nil
		}
	}
	return measure.Alternate(ctx, b.rounds(), []measure.Contestant{
		{Name: "full load", Round: round(1)}, {Name: "80 % load", Round: round(load)},
	})
}

// paced holds no faster than its limiter lets it.
type paced struct {
	rivals.Booker
	limiter *rate.Limiter
}

// Hold is Booker's.
func (p paced) Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	if err := p.limiter.Wait(ctx); err != nil {
		return uuid.Nil, err
	}
	return p.Booker.Hold(ctx, session, showing, seats)
}
