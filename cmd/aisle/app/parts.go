package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/lock"
	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/web/api"
	"github.com/aislehq/aisle/web/auth"
	"github.com/aislehq/aisle/web/ops"
	"github.com/aislehq/aisle/web/ui"
)

// parts are the rooms of one replica, joined.
type parts struct {
	*stores
	catalogue *catalogue.Catalogue
	live      *seatmap.Live
	hinter    *seatmap.Hinter // nil without Redis
	locker    *lock.Locker    // nil without Redis
	service   *booking.Service
	sessions  *auth.Sessions
	hub       *realtime.Hub
	public    http.Handler
	private   http.Handler
	health    health
	// url is where the public listener is.
	url string
}

func (a *App) build(ctx context.Context, s *stores) (*parts, error) {
	p := &parts{stores: s}
	for _, step := range []func(context.Context, *parts) error{
		a.buildCatalogue, a.buildMaps, a.buildService, a.buildHub, a.buildFront,
	} {
		if err := step(ctx, p); err != nil {
			return nil, err
		}
	}
	a.measure(p)
	return p, nil
}

func (a *App) buildCatalogue(ctx context.Context, p *parts) (err error) {
	if p.catalogue, err = catalogue.New(p.pool, catalogue.Config{Logger: a.logger}); err != nil {
		return err
	}
	return p.catalogue.Load(ctx)
}

func (a *App) buildMaps(_ context.Context, p *parts) (err error) {
	p.live, err = seatmap.NewLive(seatmap.LiveConfig{
		Prefix: a.redisPrefix(), Logger: a.logger,
		OnBooking: func(b booking.Booking) { a.sendBooking(p.hub, b) },
	}, p.log, p.redis, p.catalogue)
	if err != nil || p.redis == nil {
		return err
	}
	p.hinter, err = seatmap.NewHinter(seatmap.HinterConfig{Prefix: a.redisPrefix(), Logger: a.logger}, p.redis)
	return err
}

func (a *App) buildService(_ context.Context, p *parts) (err error) {
	var (
		locks  booking.Locks = noLocks{}
		notify               = func(uuid.UUID, int64) {}
	)
	if p.redis != nil {
		p.locker, err = lock.New(p.redis, lock.Config{
			Prefix:  a.redisPrefix(),
			Observe: func(o lock.Observation) { a.metrics.LockCall(o.Op, o.Outcome, o.Took) },
		})
		if err != nil {
			return err
		}
		locks, notify = p.locker, p.hinter.Notify
	}
	p.service, err = booking.NewService(booking.Config{
		HoldFor: a.cfg.HoldFor, MaxSeats: a.cfg.MaxSeats, MaxSeatsPerAddress: a.cfg.MaxSeatsPerAddress,
		Appended: p.live.Offer, Notify: notify, Metrics: a.metrics.Booking(), Logger: a.logger,
	}, p.log, locks, p.catalogue, p.live)
	return err
}

func (a *App) buildHub(_ context.Context, p *parts) error {
	origins, err := api.NewOrigins(a.apiConfig())
	if err != nil {
		return err
	}
	p.hub, err = realtime.NewHub(realtime.Config{
		CheckOrigin: origins.Allowed, MaxSockets: a.cfg.MaxSockets, MaxSocketsPerAddress: a.cfg.MaxSocketsPerAddress, DrainTimeout: a.drainPart(),
		Logger: a.logger, Metrics: a.metrics.Realtime(),
	}, rooms{p.live})
	return err
}

func (a *App) buildFront(ctx context.Context, p *parts) (err error) {
	if p.sessions, err = auth.NewSessions(p.pool, auth.Config{Logger: a.logger}); err != nil {
		return err
	}
	cfg := a.apiConfig()
	if a.cfg.MaxSeatsPerAddress > 0 {
		if cfg.AddressKey, err = p.sessions.AddressKey(ctx); err != nil {
			return fmt.Errorf("app: the key that hides addresses: %w", err)
		}
	}
	files, built := ui.FS()
	if !built {
		a.logger.WarnContext(ctx, "this binary was built without the browser application: only the API is served (make build includes it)")
		files = nil
	}
	p.public, err = api.New(cfg, api.Deps{
		Bookings: p.service, Catalogue: p.catalogue, Maps: pages{p.live}, Sessions: p.sessions, Live: p.hub,
		KeyUsed: keyUsed(p.log), Available: p.available, UI: files, Observe: a.metrics.HTTP,
	})
	p.private = ops.New(ops.Config{}, a.metrics, func() ops.Readiness { return a.readiness(p) })
	return err
}

func (a *App) apiConfig() api.Config {
	proxies, _ := a.cfg.proxies() // New has validated them
	return api.Config{
		PublicURL: a.cfg.PublicURL, AllowedOrigins: a.cfg.AllowedOrigins, TrustedProxies: proxies,
		Commands:    api.Limit{PerSecond: a.cfg.CommandRate, Burst: a.cfg.CommandBurst},
		Sessions:    api.Limit{PerSecond: a.cfg.SessionRate / 60, Burst: a.cfg.SessionBurst},
		MaxCommands: a.cfg.MaxCommands,
		Version:     a.version, Logger: a.logger,
	}
}

func (a *App) redisPrefix() string { return a.cfg.Namespace + ":" }

// sendBooking takes a booking's change to the sockets of its session.
func (a *App) sendBooking(hub *realtime.Hub, b booking.Booking) {
	body, err := api.EncodeBooking(b)
	if err != nil {
		a.logger.Error("a booking could not be written for its session", slog.Any("error", err))
		return
	}
	hub.SendBooking(b.Session, body)
}

// available is how many seats are left: from this replica's own map, from the leader's count, or, where nobody
// has counted, from a map that is loaded for it.
func (p *parts) available(ctx context.Context, showing uuid.UUID) (int, bool) {
	if left, _, ok := p.live.Available(showing); ok {
		return left, true
	}
	if p.coord != nil {
		if summary, ok := p.coord.Summaries().Get(showing.String()); ok {
			return summary.Left, true
		}
	}
	m, err := p.live.Open(ctx, showing)
	if err != nil {
		return 0, false
	}
	defer m.Close()
	left, _, ok := p.live.Available(showing)
	return left, ok
}
