package rows

import (
	"context"
	"fmt"

	"github.com/aislehq/aisle/cmd/aislebench/engine"
	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

// growth is one way to make the work bigger.
type growth struct {
	title, x string
	sizes    []int
	// house is showings and seats at a size.
	house func(size int) (showings, seats int)
}

func growths(short bool) []growth {
	showings := growth{"Bookings a second by showings, of 2,000 seats each", "showings", []int{1, 10, 100, 1000}, func(n int) (int, int) { return n, 2000 }}
	seats := growth{"Bookings a second by seats, at 20 showings", "seats", []int{100, 300, 1000, 3000, 20_000}, func(n int) (int, int) { return 20, n }}
	if short {
		showings.sizes, seats.sizes = []int{1, 100}, []int{300, 3000}
	}
	return []growth{showings, seats}
}

// Growing is the row of the engine at all sizes.
func Growing(ctx context.Context, b *Bench) (measure.Report, error) {
	report := measure.Report{
		Title: "How it grows",
		About: fmt.Sprintf(`%d clients buy from our engine, as in the first row, while the house grows. A round ends early where everything is sold.`, clients),
	}
	for _, g := range growths(b.Short) {
		results, err := b.grow(ctx, g)
		if err != nil {
			return measure.Report{}, err
		}
		rate, tail := measure.Line{Name: "bookings/s"}, measure.Line{Name: "p99, ms"}
		for i, size := range g.sizes {
			rate.Points = append(rate.Points, measure.Point{X: float64(size), Y: results[i].Median[measure.Rate]})
			tail.Points = append(tail.Points, measure.Point{X: float64(size), Y: results[i].Median[measure.P99] * 1e3})
		}
		report.Tables = append(report.Tables, measure.Table{
			Title: g.title + ":", Main: measure.Rate, Results: results,
			Columns: append([]measure.Column{{Title: "bookings/s", Figure: measure.Rate}}, sellColumns("here")...),
		})
		report.Curves = append(report.Curves, measure.Curve{Title: g.title, X: g.x, Y: "bookings/s, and p99 in ms", Lines: []measure.Line{rate, tail}})
	}
	return report, nil
}

// grow has an engine for each size, so that nobody has another's showings in its catalogue.
func (b *Bench) grow(ctx context.Context, g growth) ([]measure.Result, error) {
	contestants := make([]measure.Contestant, len(g.sizes))
	for i, size := range g.sizes {
		contestants[i] = measure.Contestant{Name: fmt.Sprintf("%d %s", size, g.x), Round: func(ctx context.Context) (measure.Sample, error) {
			e, err := b.engine(ctx, engine.Config{})
			if err != nil {
				return nil, err
			}
			defer e.Close()
			h := newHouse(g.house(size))
			if err := e.Prepare(ctx, h); err != nil {
				return nil, err
			}
			return sell(ctx, same(e), h, b.Round)
		}}
	}
	return measure.Alternate(ctx, b.rounds(), contestants)
}
