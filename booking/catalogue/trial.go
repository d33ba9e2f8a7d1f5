package catalogue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aislehq/aisle/booking"
)

// Bounds of a TrialHouse.
const (
	MaxTrialShowings = 5_000
	MaxTrialRows     = 200
	MaxTrialNumbers  = 200
)

// trialAhead is how far ahead the first showing of a trial house is, so that it sells for weeks.
const trialAhead = 30 * 24 * time.Hour

// TrialHouse is a cinema for load tests: one plain auditorium, and as many showings as wanted, all on sale
// from the moment that it is made. Houses of different sizes may stand side by side.
type TrialHouse struct {
	// Showings is how many: 1 – MaxTrialShowings. They start a minute apart.
	Showings int
	// Rows is how many: 1 – MaxTrialRows, named A … Z, AA, AB …
	Rows int
	// SeatsPerRow is how many: 1 – MaxTrialNumbers, numbered from 1.
	SeatsPerRow int
}

// Validate says which number is out of its bounds; nil when none is.
func (h TrialHouse) Validate() error {
	for _, n := range []struct {
		what       string
		value, max int
	}{
		{"showings", h.Showings, MaxTrialShowings},
		{"rows", h.Rows, MaxTrialRows},
		{"seats per row", h.SeatsPerRow, MaxTrialNumbers},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("catalogue: a trial house of %d %s, must be 1 – %d", n.value, n.what, n.max)
		}
	}
	return nil
}

// Make makes the house, once, as Demo makes the demo cinema. created says whether this call made it. The
// ids depend on the house's size alone, so that a repeat finds what is there.
func (h TrialHouse) Make(ctx context.Context, pool *pgxpool.Pool, opener Opener, now time.Time) (created bool, err error) {
	if err := h.Validate(); err != nil {
		return false, err
	}
	plan := h.plan(now)
	err = Insert(ctx, pool, plan)
	if err != nil && !errors.Is(err, errThere) {
		return false, err
	}
	return err == nil, Open(ctx, opener, plan)
}

func (h TrialHouse) plan(now time.Time) Plan {
	id := func(name string) uuid.UUID {
		return demoID(fmt.Sprintf("trial %d×%d×%d %s", h.Showings, h.Rows, h.SeatsPerRow, name))
	}
	plan := Plan{
		Cinema:     Cinema{ID: id("cinema"), Name: "Trial House", TimeZone: demoZone, Currency: demoCurrency},
		Auditorium: Auditorium{ID: id("auditorium"), Name: fmt.Sprintf("Hall of %d by %d", h.Rows, h.SeatsPerRow)},
		Layout:     id("layout"), LayoutVersion: 1,
		Categories: []Category{{ID: id("any"), Name: "Any", Price: booking.Money{Amount: 1000, Currency: demoCurrency}}},
	}
	for row := range h.Rows {
		for number := range h.SeatsPerRow {
			plan.Seats = append(plan.Seats, LayoutSeat{
				Seat: booking.Seat(rowName(row) + strconv.Itoa(number+1)), Row: rowName(row), Number: strconv.Itoa(number + 1),
				X: float64(number), Y: float64(row), Category: plan.Categories[0].ID, Kind: Standard,
			})
		}
	}
	for i := range h.Showings {
		starts := now.Add(trialAhead + time.Duration(i)*time.Minute)
		plan.Showings = append(plan.Showings, PlannedShowing{
			ID: id("showing " + strconv.Itoa(i)), Film: id("film"), FilmTitle: "A Trial Run",
			StartsAt: starts, OpensAt: now.Add(-time.Minute), ClosesAt: starts,
		})
	}
	return plan
}

// rowName counts as spreadsheets do: A … Z, AA … AZ, BA and so on.
func rowName(row int) string {
	name := ""
	for n := row + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}
