package catalogue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aislehq/aisle/booking"
)

// Config sets up a Catalogue. The zero value of each field takes the default named beside it.
type Config struct {
	// RefreshEvery is how often the tables are read. Default 5 s; 10 ms – 1 h.
	RefreshEvery time.Duration
	// Logger takes what an operator should know. Default: slog.Default.
	Logger *slog.Logger
}

// WithDefaults is c with each zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.RefreshEvery == 0 {
		c.RefreshEvery = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says what can't be; it expects the defaults to be set.
func (c Config) Validate() error {
	if c.RefreshEvery < 10*time.Millisecond || c.RefreshEvery > time.Hour {
		return fmt.Errorf("catalogue: RefreshEvery is %v, must be 10ms – 1h", c.RefreshEvery)
	}
	return nil
}

// Catalogue is the programme, in memory. It is safe for concurrent use.
type Catalogue struct {
	cfg  Config
	pool *pgxpool.Pool
	now  atomic.Pointer[programme]
}

// New makes a Catalogue that is empty until Load or Run has read the tables. The error says what is
// wrong with the config.
func New(pool *pgxpool.Pool, cfg Config) (*Catalogue, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Catalogue{cfg: cfg, pool: pool}
	c.now.Store(&programme{})
	return c, nil
}

// Load reads the tables now. After an error, what was read before is still served.
func (c *Catalogue) Load(ctx context.Context) error {
	next, err := read(ctx, c.pool, c.now.Load())
	if err != nil {
		return fmt.Errorf("catalogue: load: %w", err)
	}
	for id, problem := range next.left {
		if _, known := c.now.Load().left[id]; !known {
			c.cfg.Logger.ErrorContext(ctx, "showing left out of the programme",
				slog.String("showing", id.String()), slog.Any("error", problem))
		}
	}
	c.now.Store(next)
	return nil
}

// Run reads the tables every Config.RefreshEvery until ctx ends, and then returns nil.
func (c *Catalogue) Run(ctx context.Context) error {
	tick := time.NewTicker(c.cfg.RefreshEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := c.Load(ctx)
		if errors.Is(err, context.Canceled) {
			continue
		}
		if err != nil && !failing {
			c.cfg.Logger.WarnContext(ctx, "programme can't be refreshed, the last one stays", slog.Any("error", err))
		}
		if err == nil && failing {
			c.cfg.Logger.InfoContext(ctx, "programme is refreshed again")
		}
		failing = err != nil
	}
}

// List has the showings that start from one instant until before another, in order; a zero instant is
// no bound. Showings that began more than a week ago are in no list.
func (c *Catalogue) List(from, to time.Time) []Showing {
	list := []Showing{}
	for _, e := range c.now.Load().entries {
		if (from.IsZero() || !e.showing.StartsAt.Before(from)) && (to.IsZero() || e.showing.StartsAt.Before(to)) {
			list = append(list, e.showing)
		}
	}
	return list
}

// Showing is one showing of the programme.
func (c *Catalogue) Showing(id uuid.UUID) (Showing, bool) {
	e, ok := c.now.Load().byID[id]
	if !ok {
		return Showing{}, false
	}
	return e.showing, true
}

// Layout is where the showing's seats are and what they cost.
func (c *Catalogue) Layout(showing uuid.UUID) (Layout, bool) {
	e, ok := c.now.Load().byID[showing]
	if !ok {
		return Layout{}, false
	}
	return e.hall.layout, true
}

// Seats are all of the showing's seats, in the layout's order. The caller may keep and change them.
func (c *Catalogue) Seats(showing uuid.UUID) ([]booking.Seat, bool) {
	e, ok := c.now.Load().byID[showing]
	if !ok {
		return nil, false
	}
	return slices.Clone(e.hall.seats), true
}

// Offer is the showing as it is sold: what booking.Service asks for.
func (c *Catalogue) Offer(id uuid.UUID) (booking.Showing, bool) {
	e, ok := c.now.Load().byID[id]
	if !ok {
		return booking.Showing{}, false
	}
	return booking.Showing{
		ID: id, Layout: e.hall.key.layout, LayoutVersion: e.hall.key.version,
		OpensAt: e.showing.OpensAt, ClosesAt: e.showing.ClosesAt, Cancelled: e.showing.Cancelled,
		Currency: e.hall.key.currency, Places: e.hall.places,
	}, true
}
