package catalogue

import (
	"context"
	"fmt"
	"time"
	_ "time/tzdata" // cinemas have time zones also where the machine has no data of them

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aislehq/aisle/booking"
)

// keepFor is how long a showing stays in memory after it began.
const keepFor = 7 * 24 * time.Hour

// programme is one reading of the tables. It is never changed.
type programme struct {
	// entries are in order of their start.
	entries []*entry
	byID    map[uuid.UUID]*entry
	halls   map[hallKey]*hall
	// left are the showings that can't be sold, and why.
	left map[uuid.UUID]error
}

type entry struct {
	showing Showing
	hall    *hall
}

// hall is a layout with prices, which showings share. It can't change, so it is made once.
type hall struct {
	key    hallKey
	layout Layout
	seats  []booking.Seat
	places map[booking.Seat]booking.Place
}

// hallKey is all that a hall depends on.
type hallKey struct {
	layout   uuid.UUID
	version  int
	currency string
	// prices are the categories with their names and amounts, as text.
	prices string
}

// row is a line of showings.sql.
type row struct {
	ID             uuid.UUID
	FilmTitle      string
	AuditoriumName string
	CinemaName     string
	TimeZone       string
	Currency       string
	Layout         uuid.UUID
	LayoutVersion  int
	StartsAt       time.Time
	OpensAt        time.Time
	ClosesAt       time.Time
	Cancelled      bool
	Categories     []uuid.UUID
	CategoryNames  []string
	Amounts        []int64
}

func (r row) key() hallKey {
	return hallKey{
		layout: r.Layout, version: r.LayoutVersion, currency: r.Currency,
		prices: fmt.Sprintf("%q %q %v", r.Categories, r.CategoryNames, r.Amounts),
	}
}

// read makes a programme of what the tables say now; halls that an earlier reading has aren't read again.
func read(ctx context.Context, pool *pgxpool.Pool, before *programme) (*programme, error) {
	found, err := pool.Query(ctx, showingsSQL, time.Now().Add(-keepFor))
	if err != nil {
		return nil, err
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByName[row])
	if err != nil {
		return nil, err
	}
	next := &programme{
		byID: make(map[uuid.UUID]*entry, len(rows)), halls: map[hallKey]*hall{}, left: map[uuid.UUID]error{},
	}
	for _, r := range rows {
		h, err := next.hall(ctx, pool, before, r)
		if err != nil {
			return nil, err
		}
		if err := h.problem(r); err != nil {
			next.left[r.ID] = err
			continue
		}
		e := &entry{showing: r.showing(len(h.seats)), hall: h}
		next.entries = append(next.entries, e)
		next.byID[r.ID] = e
	}
	return next, nil
}

func (r row) showing(total int) Showing {
	return Showing{
		ID: r.ID, FilmTitle: r.FilmTitle, AuditoriumName: r.AuditoriumName, CinemaName: r.CinemaName,
		StartsAt: r.StartsAt.UTC(), TimeZone: r.TimeZone,
		OpensAt: r.OpensAt.UTC(), ClosesAt: r.ClosesAt.UTC(), Cancelled: r.Cancelled, Total: total,
	}
}

func (p *programme) hall(ctx context.Context, pool *pgxpool.Pool, before *programme, r row) (*hall, error) {
	key := r.key()
	if h, ok := p.halls[key]; ok {
		return h, nil
	}
	h, ok := before.halls[key]
	if !ok {
		found, err := pool.Query(ctx, layoutSeatsSQL, r.Layout, r.LayoutVersion)
		if err != nil {
			return nil, err
		}
		seats, err := pgx.CollectRows(found, pgx.RowToStructByPos[LayoutSeat])
		if err != nil {
			return nil, err
		}
		h = newHall(key, r, seats)
	}
	p.halls[key] = h
	return h, nil
}

func newHall(key hallKey, r row, seats []LayoutSeat) *hall {
	h := &hall{
		key: key, layout: Layout{Seats: seats},
		places: make(map[booking.Seat]booking.Place, len(seats)),
	}
	prices := make(map[uuid.UUID]int64, len(r.Categories))
	for i, id := range r.Categories {
		prices[id] = r.Amounts[i]
		h.layout.Categories = append(h.layout.Categories, Category{
			ID: id, Name: r.CategoryNames[i], Price: booking.Money{Amount: r.Amounts[i], Currency: r.Currency},
		})
	}
	for i, seat := range seats {
		h.seats = append(h.seats, seat.Seat)
		if price, ok := prices[seat.Category]; ok {
			h.places[seat.Seat] = booking.Place{Order: i, Price: price}
		}
	}
	return h
}

// problem is why a showing in this hall can't be sold.
func (h *hall) problem(r row) error {
	if len(h.seats) == 0 {
		return fmt.Errorf("layout %s version %d has no seats", r.Layout, r.LayoutVersion)
	}
	if len(h.places) != len(h.seats) {
		return fmt.Errorf("%d of its seats have no price", len(h.seats)-len(h.places))
	}
	if _, err := time.LoadLocation(r.TimeZone); err != nil {
		return err
	}
	return nil
}
