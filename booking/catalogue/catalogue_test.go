package catalogue_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// quiet keeps the tests' output clean.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// open migrates a schema of the test's own and opens its log.
func open(t *testing.T) (*pgxpool.Pool, *eventstore.Store) {
	t.Helper()
	url := stacktest.Postgres(t)
	_, err := eventstore.Migrate(t.Context(), url, "")
	require.NoError(t, err)
	pool, err := eventstore.NewPool(t.Context(), url, eventstore.PoolConfig{MaxConns: 5, ConnectTimeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store, err := eventstore.Open(t.Context(), pool, eventstore.Config{Logger: quiet()})
	require.NoError(t, err)
	return pool, store
}

// load makes a catalogue of what is in the database now.
func load(t *testing.T, pool *pgxpool.Pool) *catalogue.Catalogue {
	t.Helper()
	c, err := catalogue.New(pool, catalogue.Config{Logger: quiet()})
	require.NoError(t, err)
	require.NoError(t, c.Load(t.Context()))
	return c
}

// small is a hall of three seats in two categories with two showings of one film.
func small(now time.Time) catalogue.Plan {
	near, far := uuid.New(), uuid.New()
	film := uuid.New()
	showing := func(days int) catalogue.PlannedShowing {
		starts := now.AddDate(0, 0, days)
		return catalogue.PlannedShowing{
			ID: uuid.New(), Film: film, FilmTitle: "A Test of Patience",
			StartsAt: starts, OpensAt: now.Add(-time.Hour), ClosesAt: starts.Add(-time.Hour),
		}
	}
	seat := func(code, number string, x float64, category uuid.UUID, kind catalogue.Kind) catalogue.LayoutSeat {
		return catalogue.LayoutSeat{
			Seat: booking.Seat(code), Row: "A", Number: number, X: x, Y: 0.5, Category: category, Kind: kind,
		}
	}
	return catalogue.Plan{
		Cinema:     catalogue.Cinema{ID: uuid.New(), Name: "Small", TimeZone: "Europe/Zurich", Currency: "CHF"},
		Auditorium: catalogue.Auditorium{ID: uuid.New(), Name: "One"},
		Layout:     uuid.New(), LayoutVersion: 2,
		Seats: []catalogue.LayoutSeat{
			seat("A10", "10", 0, near, catalogue.Sofa), seat("A9", "9", 1, far, catalogue.Standard),
			seat("A8", "8", 2.5, near, catalogue.Wheelchair),
		},
		Categories: []catalogue.Category{
			{ID: far, Name: "Far", Price: booking.Money{Amount: 1200, Currency: "CHF"}},
			{ID: near, Name: "Near", Price: booking.Money{Amount: 900, Currency: "CHF"}},
		},
		Showings: []catalogue.PlannedShowing{showing(2), showing(1)},
	}
}

func TestWhatWasInsertedIsServed(t *testing.T) {
	t.Parallel()
	pool, store := open(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	plan := small(now)
	require.NoError(t, catalogue.Insert(t.Context(), pool, plan))
	require.NoError(t, catalogue.Open(t.Context(), store, plan))
	c := load(t, pool)
	second, first := plan.Showings[0], plan.Showings[1]

	list := c.List(time.Time{}, time.Time{})
	require.Len(t, list, 2)
	require.Equal(t, catalogue.Showing{
		ID: first.ID, FilmTitle: "A Test of Patience", AuditoriumName: "One", CinemaName: "Small",
		StartsAt: now.AddDate(0, 0, 1), TimeZone: "Europe/Zurich",
		OpensAt: now.Add(-time.Hour), ClosesAt: now.AddDate(0, 0, 1).Add(-time.Hour), Total: 3,
	}, list[0], "in the order of their start")
	require.Equal(t, second.ID, list[1].ID)
	require.Len(t, c.List(second.StartsAt, time.Time{}), 1)
	require.Len(t, c.List(time.Time{}, second.StartsAt), 1, "the end is exclusive")
	require.Empty(t, c.List(second.StartsAt.Add(time.Second), time.Time{}))
	showing, ok := c.Showing(first.ID)
	require.True(t, ok)
	require.Equal(t, list[0], showing)

	layout, ok := c.Layout(first.ID)
	require.True(t, ok)
	require.Equal(t, catalogue.Layout{Seats: plan.Seats, Categories: plan.Categories}, layout)
	seats, ok := c.Seats(first.ID)
	require.True(t, ok)
	require.Equal(t, []booking.Seat{"A10", "A9", "A8"}, seats)

	offer, ok := c.Offer(first.ID)
	require.True(t, ok)
	require.Equal(t, booking.Showing{
		ID: first.ID, Layout: plan.Layout, LayoutVersion: 2, OpensAt: showing.OpensAt, ClosesAt: showing.ClosesAt,
		Currency: "CHF", Places: map[booking.Seat]booking.Place{
			"A10": {Order: 0, Price: 900}, "A9": {Order: 1, Price: 1200}, "A8": {Order: 2, Price: 900},
		},
	}, offer)
	require.Equal(t, booking.Money{Amount: 2100, Currency: "CHF"}, offer.Price([]booking.Seat{"A9", "A8"}))

	events, err := store.Read(t.Context(), first.ID, 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	var opened booking.ShowingOpened
	require.NoError(t, json.Unmarshal(events[0].Data, &opened))
	require.Equal(t, booking.ShowingOpened{Layout: plan.Layout, LayoutVersion: 2}, opened)
}

func TestUnknownShowingsAreUnknown(t *testing.T) {
	t.Parallel()
	pool, _ := open(t)
	c := load(t, pool)

	_, ok := c.Showing(uuid.New())
	require.False(t, ok)
	_, ok = c.Layout(uuid.New())
	require.False(t, ok)
	_, ok = c.Seats(uuid.New())
	require.False(t, ok)
	_, ok = c.Offer(uuid.New())
	require.False(t, ok)
	require.Empty(t, c.List(time.Time{}, time.Time{}))
}

func TestSalesState(t *testing.T) {
	t.Parallel()
	opens := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	s := catalogue.Showing{OpensAt: opens, ClosesAt: opens.Add(time.Hour)}
	for _, c := range []struct {
		at   time.Time
		want catalogue.SalesState
	}{
		{opens.Add(-time.Nanosecond), catalogue.SalesScheduled},
		{opens, catalogue.SalesOpen},
		{opens.Add(time.Hour - time.Nanosecond), catalogue.SalesOpen},
		{opens.Add(time.Hour), catalogue.SalesClosed},
	} {
		require.Equal(t, c.want, s.SalesState(c.at), "at %s", c.at)
		cancelled := s
		cancelled.Cancelled = true
		require.Equal(t, catalogue.SalesCancelled, cancelled.SalesState(c.at))
	}
}

func TestPlansThatCannotBeSoldAreRefused(t *testing.T) {
	t.Parallel()
	pool, _ := open(t)
	for name, spoil := range map[string]func(*catalogue.Plan){
		"time zone":      func(p *catalogue.Plan) { p.Cinema.TimeZone = "Europe/Atlantis" },
		"no time zone":   func(p *catalogue.Plan) { p.Cinema.TimeZone = "" },
		"no seats":       func(p *catalogue.Plan) { p.Seats = nil },
		"no price":       func(p *catalogue.Plan) { p.Categories = p.Categories[:1] },
		"other currency": func(p *catalogue.Plan) { p.Categories[0].Price.Currency = "EUR" },
		"seat twice":     func(p *catalogue.Plan) { p.Seats[1].Seat = p.Seats[0].Seat },
		"negative price": func(p *catalogue.Plan) { p.Categories[0].Price.Amount = -1 },
		"closes first":   func(p *catalogue.Plan) { p.Showings[1].ClosesAt = p.Showings[1].OpensAt },
		"reserved seat":  func(p *catalogue.Plan) { p.Seats[0].Seat = "*" },
	} {
		plan := small(time.Now())
		spoil(&plan)
		require.Error(t, catalogue.Insert(t.Context(), pool, plan), name)
	}
	require.Empty(t, load(t, pool).List(time.Time{}, time.Time{}), "all of a plan or nothing")
}

// What customers saw is what they pay and where they sit: the database refuses to change it.
func TestLayoutsAndPricesAreFrozen(t *testing.T) {
	t.Parallel()
	pool, _ := open(t)
	plan := small(time.Now())
	require.NoError(t, catalogue.Insert(t.Context(), pool, plan))

	for _, sql := range []string{
		"UPDATE layout_seats SET x = x + 1",
		"DELETE FROM layout_seats WHERE seat = 'A9'",
		`INSERT INTO layout_seats SELECT layout, version, 9, 'A7', row, '7', x, y, category, kind FROM layout_seats WHERE seat = 'A9'`,
		"UPDATE prices SET amount = amount + 1",
		"DELETE FROM prices",
		"UPDATE showings SET layout_version = 1",
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
	_, err := pool.Exec(t.Context(), "UPDATE showings SET cancelled = true WHERE id = $1", plan.Showings[0].ID)
	require.NoError(t, err)
	showing, ok := load(t, pool).Showing(plan.Showings[0].ID)
	require.True(t, ok)
	require.True(t, showing.Cancelled)
}

func TestAShowingWithoutAPriceIsLeftOut(t *testing.T) {
	t.Parallel()
	pool, _ := open(t)
	plan := small(time.Now())
	require.NoError(t, catalogue.Insert(t.Context(), pool, plan))
	odd := uuid.New()
	_, err := pool.Exec(t.Context(), `INSERT INTO showings
		SELECT $1, film, layout, layout_version, starts_at, opens_at, closes_at, false FROM showings WHERE id = $2`,
		odd, plan.Showings[0].ID)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "INSERT INTO prices VALUES ($1, $2, 1)", odd, plan.Categories[0].ID)
	require.NoError(t, err)

	c := load(t, pool)

	_, ok := c.Showing(odd)
	require.False(t, ok)
	require.Len(t, c.List(time.Time{}, time.Time{}), 2)
}

// A refresh brings what is new; one that fails leaves what was there, and the next one goes on.
func TestRefreshing(t *testing.T) {
	t.Parallel()
	pool, _ := open(t)
	c, err := catalogue.New(pool, catalogue.Config{RefreshEvery: 10 * time.Millisecond, Logger: quiet()})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()

	plan := small(time.Now())
	require.NoError(t, catalogue.Insert(t.Context(), pool, plan))
	require.Eventually(t, func() bool { return len(c.List(time.Time{}, time.Time{})) == 2 }, 10*time.Second, 5*time.Millisecond)
	_, err = pool.Exec(t.Context(), "ALTER TABLE films RENAME TO films_away")
	require.NoError(t, err)
	require.Error(t, c.Load(t.Context()))
	require.Len(t, c.List(time.Time{}, time.Time{}), 2)
	_, err = pool.Exec(t.Context(), "ALTER TABLE films_away RENAME TO films")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "UPDATE showings SET cancelled = true")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		showing, ok := c.Showing(plan.Showings[0].ID)
		return ok && showing.Cancelled
	}, 10*time.Second, 5*time.Millisecond)

	stop()
	require.NoError(t, <-ended)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := catalogue.New(nil, catalogue.Config{RefreshEvery: time.Millisecond})
	require.ErrorContains(t, err, "RefreshEvery")
}

func TestTheDemoIsMadeOnce(t *testing.T) {
	t.Parallel()
	pool, store := open(t)
	now := time.Date(2026, 11, 30, 15, 4, 5, 0, time.UTC)

	var all sync.WaitGroup
	made := make([]bool, 4)
	for i := range made {
		all.Go(func() {
			created, err := catalogue.Demo(t.Context(), pool, store, now)
			if err == nil {
				made[i] = created
			} else {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Len(t, trueOnes(made), 1, "four replicas started at once")
	_, err := pool.Exec(t.Context(), "UPDATE showings SET cancelled = true WHERE id = (SELECT id FROM showings ORDER BY starts_at LIMIT 1)")
	require.NoError(t, err)
	before := load(t, pool).List(time.Time{}, time.Time{})
	created, err := catalogue.Demo(t.Context(), pool, store, now.AddDate(0, 0, 3))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, before, load(t, pool).List(time.Time{}, time.Time{}), "it never resets anything")
}

func trueOnes(all []bool) []bool {
	var ones []bool
	for _, b := range all {
		if b {
			ones = append(ones, b)
		}
	}
	return ones
}

func TestTheDemo(t *testing.T) {
	t.Parallel()
	pool, store := open(t)
	now := time.Now().UTC()
	_, err := catalogue.Demo(t.Context(), pool, store, now)
	require.NoError(t, err)
	c := load(t, pool)

	open, later := 0, 0
	for _, showing := range c.List(time.Time{}, time.Time{}) {
		require.Equal(t, 240, showing.Total)
		require.Equal(t, "Europe/Berlin", showing.TimeZone)
		switch showing.SalesState(now) {
		case catalogue.SalesOpen:
			open++
			if showing.StartsAt.After(now.AddDate(0, 0, 21)) {
				later++
			}
		case catalogue.SalesScheduled:
			require.True(t, showing.OpensAt.After(now))
		case catalogue.SalesClosed, catalogue.SalesCancelled:
			t.Errorf("showing %s can't be bought for", showing.ID)
		}
		events, err := store.Read(t.Context(), showing.ID, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 1, "its stream is open")
		require.Equal(t, booking.TypeShowingOpened, events[0].Type)
	}
	require.GreaterOrEqual(t, open, 6)
	require.GreaterOrEqual(t, later, 2, "someone who comes back in three weeks finds something to book")
	soon := c.List(now, now.AddDate(0, 0, 7))
	require.GreaterOrEqual(t, len(soon), 3)

	layout, ok := c.Layout(soon[0].ID)
	require.True(t, ok)
	require.Len(t, layout.Categories, 3)
	codes := map[booking.Seat]catalogue.LayoutSeat{}
	kinds := map[catalogue.Kind]int{}
	for _, seat := range layout.Seats {
		codes[seat.Seat] = seat
		kinds[seat.Kind]++
	}
	require.Len(t, codes, 240)
	require.Equal(t, booking.Seat("A1"), layout.Seats[0].Seat)
	require.Equal(t, booking.Seat("L20"), layout.Seats[239].Seat)
	require.Equal(t, "F", codes["F7"].Row)
	require.Equal(t, "7", codes["F7"].Number)
	require.Equal(t, map[catalogue.Kind]int{
		catalogue.Standard: 216, catalogue.Wheelchair: 2, catalogue.Companion: 2, catalogue.Sofa: 20,
	}, kinds)
	require.InDelta(t, 1, codes["F2"].X-codes["F1"].X, 1e-9)
	require.InDelta(t, 2, codes["F11"].X-codes["F10"].X, 1e-9, "the aisle")
	require.InDelta(t, 0, codes["A1"].Y, 1e-9)
	require.InDelta(t, 12, codes["L1"].Y, 1e-9)
	offer, ok := c.Offer(soon[0].ID)
	require.True(t, ok)
	require.Equal(t, booking.Money{Amount: 950 + 1250 + 1600, Currency: "EUR"}, offer.Price([]booking.Seat{"A1", "F7", "L20"}))
}

// Show times are the cinema's, also across the change to winter time.
func TestTheDemosClocksAreTheCinemas(t *testing.T) {
	t.Parallel()
	pool, store := open(t)
	created, err := catalogue.Demo(t.Context(), pool, store, time.Now())
	require.NoError(t, err)
	require.True(t, created)
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)

	for _, showing := range load(t, pool).List(time.Time{}, time.Time{}) {
		hour := showing.StartsAt.In(zone).Hour()
		require.True(t, hour >= 17 && hour <= 21, "%s starts at %d o'clock", showing.ID, hour)
	}
}
