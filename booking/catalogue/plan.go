package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// openAtOnce is how many streams are opened at the same time: their commits then share what a disk is slow at.
const openAtOnce = 8

// Plan is a cinema with one auditorium and its showings, on its way into the database.
type Plan struct {
	Cinema     Cinema
	Auditorium Auditorium
	// Layout is the auditorium's; LayoutVersion is at least 1.
	Layout        uuid.UUID
	LayoutVersion int
	// Seats are in the layout's order, and Categories in that of lists.
	Seats      []LayoutSeat
	Categories []Category
	Showings   []PlannedShowing
}

// Cinema is a house with its clocks and its money.
type Cinema struct {
	ID   uuid.UUID
	Name string
	// TimeZone is an IANA name, such as Europe/Berlin.
	TimeZone string
	// Currency is an ISO 4217 code; all prices are in it.
	Currency string
}

// Auditorium is a hall of a cinema.
type Auditorium struct {
	ID   uuid.UUID
	Name string
}

// PlannedShowing is one showing of a Plan.
type PlannedShowing struct {
	ID uuid.UUID
	// Film is the film's id; showings of one film have the same.
	Film      uuid.UUID
	FilmTitle string
	StartsAt  time.Time
	// OpensAt and ClosesAt are the sales window: from OpensAt until just before ClosesAt.
	OpensAt   time.Time
	ClosesAt  time.Time
	Cancelled bool
}

// Opener puts a showing's stream into the log, once, and is safe for concurrent use; *eventstore.Store is one.
type Opener interface {
	OpenStream(ctx context.Context, stream uuid.UUID, first eventstore.NewEvent) error
}

// Validate says why the plan can't be sold from; nil when it can.
func (p Plan) Validate() error {
	if _, err := time.LoadLocation(p.Cinema.TimeZone); err != nil || p.Cinema.TimeZone == "" {
		return fmt.Errorf("catalogue: time zone %q is not known", p.Cinema.TimeZone)
	}
	if len(p.Seats) == 0 {
		return errors.New("catalogue: a layout needs seats")
	}
	priced := map[uuid.UUID]bool{}
	for _, category := range p.Categories {
		if category.Price.Currency != p.Cinema.Currency {
			return fmt.Errorf("catalogue: category %q is not priced in %s", category.Name, p.Cinema.Currency)
		}
		priced[category.ID] = true
	}
	for _, seat := range p.Seats {
		if !priced[seat.Category] {
			return fmt.Errorf("catalogue: seat %s has no price", seat.Seat)
		}
	}
	return nil
}

// errThere says that the cinema is in the database already.
var errThere = errors.New("catalogue: the cinema is there already")

// Insert puts all of the plan into the database, or nothing. A cinema that is there already is an error.
// Its showings can be sold once Open has opened their streams.
func Insert(ctx context.Context, pool *pgxpool.Pool, p Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return insert(ctx, tx, p) })
	if err != nil {
		return fmt.Errorf("catalogue: insert %q: %w", p.Cinema.Name, err)
	}
	return nil
}

// Open opens the streams of the plan's showings, a few at once: from here on their layout is frozen in the
// log, too. It may be repeated.
func Open(ctx context.Context, opener Opener, p Plan) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(openAtOnce)
	for _, showing := range p.Showings {
		first, err := booking.NewShowingOpened(p.Layout, p.LayoutVersion)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			if err := opener.OpenStream(ctx, showing.ID, first); err != nil {
				return fmt.Errorf("catalogue: open showing %s: %w", showing.ID, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func insert(ctx context.Context, tx pgx.Tx, p Plan) error {
	made, err := tx.Exec(ctx, insertCinemaSQL, p.Cinema.ID, p.Cinema.Name, p.Cinema.TimeZone, p.Cinema.Currency)
	if err != nil {
		return err
	}
	if made.RowsAffected() == 0 {
		return errThere
	}
	hall := []any{p.Auditorium.ID, p.Cinema.ID, p.Auditorium.Name, p.Layout, p.LayoutVersion}
	if _, err := tx.Exec(ctx, insertHallSQL, hall...); err != nil {
		return err
	}
	categories, names, amounts := make([]uuid.UUID, 0), make([]string, 0), make([]int64, 0)
	for _, category := range p.Categories {
		categories = append(categories, category.ID)
		names = append(names, category.Name)
		amounts = append(amounts, category.Price.Amount)
	}
	if _, err := tx.Exec(ctx, insertCategoriesSQL, p.Cinema.ID, categories, names); err != nil {
		return err
	}
	if err := insertSeats(ctx, tx, p); err != nil {
		return err
	}
	showings := &pgx.Batch{} // one journey for all of them
	for _, s := range p.Showings {
		showings.Queue(insertShowingSQL, s.ID, s.Film, s.FilmTitle, p.Layout, p.LayoutVersion,
			s.StartsAt, s.OpensAt, s.ClosesAt, s.Cancelled, categories, amounts)
	}
	return tx.SendBatch(ctx, showings).Close()
}

func insertSeats(ctx context.Context, tx pgx.Tx, p Plan) error {
	n := len(p.Seats)
	codes, rows, numbers, kinds := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	xs, ys, categories := make([]float64, n), make([]float64, n), make([]uuid.UUID, n)
	for i, seat := range p.Seats {
		codes[i], rows[i], numbers[i], kinds[i] = string(seat.Seat), seat.Row, seat.Number, string(seat.Kind)
		xs[i], ys[i], categories[i] = seat.X, seat.Y, seat.Category
	}
	_, err := tx.Exec(ctx, insertSeatsSQL, p.Layout, p.LayoutVersion, codes, rows, numbers, xs, ys, categories, kinds)
	return err
}
