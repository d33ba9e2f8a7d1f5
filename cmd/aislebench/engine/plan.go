package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
)

const (
	currency = "EUR"
	price    = 1000
	// ahead is when the showings start.
	ahead = 30 * 24 * time.Hour
	// rowOf is how many seats are in a row.
	rowOf = 20
)

// Sell puts the house into a database that was migrated.
func Sell(ctx context.Context, pool *pgxpool.Pool, opener catalogue.Opener, h rivals.House) error {
	plan := newPlan(h, time.Now())
	if err := catalogue.Insert(ctx, pool, plan); err != nil {
		return err
	}
	return catalogue.Open(ctx, opener, plan)
}

// newPlan is the house as the catalogue wants it: a cinema of its own, one auditorium, one price.
func newPlan(h rivals.House, now time.Time) catalogue.Plan {
	category := catalogue.Category{ID: uuid.New(), Name: "Any", Price: booking.Money{Amount: price, Currency: currency}}
	plan := catalogue.Plan{
		Cinema:     catalogue.Cinema{ID: uuid.New(), Name: "Bench", TimeZone: "Europe/Berlin", Currency: currency},
		Auditorium: catalogue.Auditorium{ID: uuid.New(), Name: fmt.Sprintf("Hall of %d", len(h.Seats))},
		Layout:     uuid.New(), LayoutVersion: 1, Categories: []catalogue.Category{category},
	}
	for i, seat := range h.Seats {
		plan.Seats = append(plan.Seats, catalogue.LayoutSeat{
			Seat: booking.Seat(seat), Row: strconv.Itoa(i / rowOf), Number: strconv.Itoa(i%rowOf + 1),
			X: float64(i % rowOf), Y: float64(i / rowOf), Category: category.ID, Kind: catalogue.Standard,
		})
	}
	film := uuid.New()
	for _, id := range h.Showings {
		plan.Showings = append(plan.Showings, catalogue.PlannedShowing{
			ID: id, Film: film, FilmTitle: "A Trial Run", StartsAt: now.Add(ahead), OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(ahead),
		})
	}
	return plan
}
