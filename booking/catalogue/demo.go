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

const (
	demoSpace    = "5b0c0f0e-8d64-5a0f-9e55-0c8f3f6b7a21"
	demoZone     = "Europe/Berlin"
	demoCurrency = "EUR"
	demoRows     = 12
	demoNumbers  = 20
)

// demoShowings are the demo's programme: days after the first start, and the hour at the cinema. They
// reach far ahead, because the demo is made once and shown for weeks.
func demoShowings() []struct {
	title          string
	day, hour, min int
	opensDay       int
} {
	return []struct {
		title          string
		day, hour, min int
		opensDay       int
	}{
		{"Saltwater Letters", 1, 20, 0, 0},
		{"Night Shift at the Observatory", 2, 18, 30, 0},
		{"A Brief and Mostly Accurate History of Rain", 3, 20, 15, 0},
		{"Eleven Ways to Leave a Harbour", 5, 21, 0, 0},
		{"The Orchard Keeps Its Own Time", 8, 17, 0, 0},
		{"Saltwater Letters", 13, 20, 0, 0},
		{"Night Shift at the Observatory", 21, 20, 0, 0},
		{"Kites over the Salt Road", 30, 20, 0, 23},
		{"A Brief and Mostly Accurate History of Rain", 45, 19, 30, 0},
		{"Eleven Ways to Leave a Harbour", 60, 20, 0, 0},
	}
}

// Demo makes the demo cinema, once: an auditorium of 12 rows (A–L) of 20 seats and showings of invented
// films, nearly all on sale from now on. It never changes what is there, and may run on several replicas at
// once. created says whether this call made it. The showings' streams are opened each time, in case an
// earlier run ended in between.
func Demo(ctx context.Context, pool *pgxpool.Pool, opener Opener, now time.Time) (created bool, err error) {
	plan, err := demoPlan(now)
	if err != nil {
		return false, err
	}
	err = Insert(ctx, pool, plan)
	if err != nil && !errors.Is(err, errThere) {
		return false, err
	}
	return err == nil, Open(ctx, opener, plan)
}

// demoID is the same on every replica and at every start.
func demoID(name string) uuid.UUID {
	return uuid.NewSHA1(uuid.MustParse(demoSpace), []byte(name))
}

func demoPlan(now time.Time) (Plan, error) {
	zone, err := time.LoadLocation(demoZone)
	if err != nil {
		return Plan{}, fmt.Errorf("catalogue: demo: %w", err)
	}
	plan := Plan{
		Cinema:     Cinema{ID: demoID("cinema"), Name: "Lantern Picture House", TimeZone: demoZone, Currency: demoCurrency},
		Auditorium: Auditorium{ID: demoID("auditorium"), Name: "Great Hall"},
		Layout:     demoID("layout"), LayoutVersion: 1,
		Seats: demoSeats(),
		Categories: []Category{
			{ID: demoID("front"), Name: "Front", Price: booking.Money{Amount: 950, Currency: demoCurrency}},
			{ID: demoID("standard"), Name: "Standard", Price: booking.Money{Amount: 1250, Currency: demoCurrency}},
			{ID: demoID("premium"), Name: "Premium", Price: booking.Money{Amount: 1600, Currency: demoCurrency}},
		},
	}
	year, month, day := now.In(zone).Date()
	for i, s := range demoShowings() {
		starts := time.Date(year, month, day+s.day, s.hour, s.min, 0, 0, zone)
		opens := now.Add(-time.Minute)
		if s.opensDay > 0 {
			opens = time.Date(year, month, day+s.opensDay, 10, 0, 0, 0, zone)
		}
		plan.Showings = append(plan.Showings, PlannedShowing{
			ID: demoID("showing " + strconv.Itoa(i)), Film: demoID("film " + s.title), FilmTitle: s.title,
			StartsAt: starts, OpensAt: opens, ClosesAt: starts,
		})
	}
	return plan, nil
}

// demoSeats are 12 straight rows of 20 with an aisle between seats 10 and 11, and one between rows I and J.
func demoSeats() []LayoutSeat {
	seats := make([]LayoutSeat, 0, demoRows*demoNumbers)
	for row := range demoRows {
		for number := 1; number <= demoNumbers; number++ {
			letter := string(rune('A' + row))
			seats = append(seats, LayoutSeat{
				Seat: booking.Seat(letter + strconv.Itoa(number)), Row: letter, Number: strconv.Itoa(number),
				X: beyond(number-1, 10), Y: beyond(row, 9),
				Category: demoCategory(letter), Kind: demoKind(letter, number),
			})
		}
	}
	return seats
}

// beyond leaves out one whole place for an aisle.
func beyond(i, aisle int) float64 {
	if i >= aisle {
		i++
	}
	return float64(i)
}

func demoCategory(row string) uuid.UUID {
	switch {
	case row <= "C":
		return demoID("front")
	case row <= "I":
		return demoID("standard")
	default:
		return demoID("premium")
	}
}

// demoKind puts wheelchair places with one companion each at both ends of the front row, which is level
// with the doors, and sofas in the last.
func demoKind(row string, number int) Kind {
	switch {
	case row == "A" && (number == 1 || number == demoNumbers):
		return Wheelchair
	case row == "A" && (number == 2 || number == demoNumbers-1):
		return Companion
	case row == "L":
		return Sofa
	default:
		return Standard
	}
}
