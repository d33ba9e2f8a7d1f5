package rows

import (
	"context"
	"errors"
	"fmt"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

const ready measure.Figure = "ready"

// Starting is the row of a replica's start.
func Starting(ctx context.Context, b *Bench) (measure.Report, error) {
	sizes := []int{1, 10, 100, 1000}
	if b.Short {
		sizes = []int{1, 1000}
	}
	contestants := make([]measure.Contestant, len(sizes))
	for i, n := range sizes {
		url, err := b.database(ctx, "aisle")
		if err != nil {
			return measure.Report{}, err
		}
		if err := onSale(ctx, url, newHouse(n, readSeats)); err != nil {
			return measure.Report{}, err
		}
		namespace := fmt.Sprintf("start%d", b.databases)
		contestants[i] = measure.Contestant{Name: count(n, "showing") + " on sale", Round: func(ctx context.Context) (measure.Sample, error) {
			s, err := b.serveAisle(ctx, url, namespace)
			if err != nil {
				return nil, err
			}
			sample := measure.Sample{ready: s.took.Seconds()}
			used, err := s.used()
			sample["server seconds"] = used.Seconds()
			return sample, errors.Join(err, s.stop())
		}}
	}
	results, err := measure.Alternate(ctx, b.rounds(), contestants)
	if err != nil {
		return measure.Report{}, err
	}
	line := measure.Line{Name: ours}
	for i, n := range sizes {
		line.Points = append(line.Points, measure.Point{X: float64(n), Y: results[i].Median[ready] * 1e3})
	}
	return measure.Report{
		Title: "Starting a replica",
		About: fmt.Sprintf(`From the start of the process "aisle serve" to the line that says it is ready, with so many showings of %d seats on sale.`, readSeats),
		Tables: []measure.Table{{
			Main: ready, Results: results,
			Columns: []measure.Column{
				{Title: "ready after", Figure: ready, Unit: measure.Seconds}, {Title: "processor time until then", Figure: "server seconds", Unit: measure.Seconds},
			},
			Ratios: []measure.Ratio{{Claim: "seconds to ready with 1,000 showings", Value: results[len(results)-1].Median[ready], Goal: 1, AtMost: true}},
		}},
		Curves: []measure.Curve{{Title: "Time to ready", X: "showings", Y: "ms", Lines: []measure.Line{line}}},
	}, nil
}
