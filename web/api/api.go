package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/web/auth"
)

// basePath is where version 1 of the API lives.
const basePath = "/api/v1"

// Bookings runs commands; *booking.Service is one. Its errors are those of package booking.
type Bookings interface {
	Hold(ctx context.Context, c booking.Command, showing uuid.UUID, seats []booking.Seat) (booking.Booking, error)
	AddSeats(ctx context.Context, c booking.Command, id uuid.UUID, seats []booking.Seat) (booking.Booking, error)
	GiveBack(ctx context.Context, c booking.Command, id uuid.UUID, seat booking.Seat) (booking.Booking, error)
	Confirm(ctx context.Context, c booking.Command, id uuid.UUID) (booking.Booking, error)
	Release(ctx context.Context, c booking.Command, id uuid.UUID) (booking.Booking, error)
	// Booking and Bookings read what a session has: booking.ErrNotFound, booking.ErrUnavailable.
	Booking(ctx context.Context, session, id uuid.UUID) (booking.Booking, error)
	Bookings(ctx context.Context, session uuid.UUID) ([]booking.Booking, error)
}

// Catalogue is the programme, from memory; *catalogue.Catalogue is one.
type Catalogue interface {
	// List has the showings that start from one instant until before another, in order; a zero instant is no bound.
	List(from, to time.Time) []catalogue.Showing
	Showing(id uuid.UUID) (catalogue.Showing, bool)
	Layout(showing uuid.UUID) (catalogue.Layout, bool)
}

// Maps has the live maps, from memory.
type Maps interface {
	// Seats is a showing's map. Errors: booking.ErrNotFound; booking.ErrUnavailable when this replica has
	// no map and can't get one.
	Seats(ctx context.Context, showing uuid.UUID) (Seats, error)
}

// Seats is the whole map of a showing at one seq, ready to be sent.
type Seats struct {
	// ETag has its quotes, and is made of log, seq and stale.
	ETag string
	// JSON and Gzip are the body as it is and compressed, each made once for all who ask.
	JSON, Gzip func() []byte
}

// Sessions says who a request speaks for; *auth.Sessions is one. Its errors are auth.ErrUnknown and
// auth.ErrUnavailable.
type Sessions interface {
	Start(ctx context.Context) (auth.Session, string, error)
	Lookup(ctx context.Context, token string) (auth.Session, error)
	// Known says whether Lookup answers from memory.
	Known(token string) bool
	End(ctx context.Context, token, key string) (auth.Session, error)
}

// Live takes sockets; *realtime.Hub is one.
type Live interface {
	Serve(w http.ResponseWriter, r *http.Request, client realtime.Client)
	// EndSession closes a session's sockets.
	EndSession(session uuid.UUID)
}

// Deps are what the API stands on. All are needed, but those that say what happens without.
type Deps struct {
	Bookings  Bookings
	Catalogue Catalogue
	Maps      Maps
	Sessions  Sessions
	Live      Live
	// KeyUsed says whether a session has used an Idempotency-Key for a command on bookings: then it can't
	// end the session too.
	KeyUsed func(ctx context.Context, session uuid.UUID, key string) (bool, error)
	// Available is how many seats of a showing can be had, as far as is known; without it, or when it doesn't know,
	// the programme shows all of them.
	Available func(ctx context.Context, showing uuid.UUID) (int, bool)
	// UI is the browser application as built: index.html, assets/… and docs/…. Without it there is only the API.
	UI fs.FS
	// Observe is told of each request, by its route's pattern ("" when none matched).
	Observe func(route, method string, status int, took time.Duration)
}

func (d Deps) validate() error {
	if d.Bookings == nil || d.Catalogue == nil || d.Maps == nil || d.Sessions == nil || d.Live == nil || d.KeyUsed == nil {
		return errors.New("api: something that the API stands on is missing")
	}
	return nil
}

// server is the public edge.
type server struct {
	cfg     Config
	deps    Deps
	origins *Origins
	proxies proxies
	huma    huma.API
	static  *static
	layouts *otter.Cache[uuid.UUID, layoutBody]

	commands, starts, unknown *limiter
	gate                      *gate
}

// New returns the handler of the public listener.
func New(cfg Config, deps Deps) (http.Handler, error) {
	cfg = cfg.WithDefaults()
	if err := errors.Join(cfg.Validate(), deps.validate()); err != nil {
		return nil, err
	}
	s, err := newServer(cfg, deps)
	if err != nil {
		return nil, err
	}
	return s.routes(), nil
}

func newServer(cfg Config, deps Deps) (*server, error) {
	origins, err := NewOrigins(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, deps: deps, origins: origins, proxies: cfg.TrustedProxies, gate: newGate(cfg.MaxCommands)}
	if s.layouts, err = otter.New(&otter.Options[uuid.UUID, layoutBody]{MaximumSize: maxLayouts}); err != nil {
		return nil, fmt.Errorf("api: layouts: %w", err)
	}
	if s.static, err = newStatic(deps.UI); err != nil {
		return nil, err
	}
	if err := s.limiters(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *server) limiters() (err error) {
	if s.commands, err = newLimiter(s.cfg.Commands, s.cfg.Now); err != nil {
		return err
	}
	if s.starts, err = newLimiter(s.cfg.Sessions, s.cfg.Now); err != nil {
		return err
	}
	s.unknown, err = newLimiter(s.cfg.Sessions, s.cfg.Now)
	return err
}

// routes is everything on the public listener. The order of the middleware matters: whatever fails
// further in is logged and has its headers.
func (s *server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.proxies.middleware(), s.identify, s.observe, s.secure, s.recover, middleware.GetHead)
	r.NotFound(s.notFound)
	r.MethodNotAllowed(s.methodNotAllowed)
	r.Mount(basePath, s.apiRoutes())
	r.Get("/api/docs", s.docsPage)
	r.Get("/api/docs/assets/{file}", s.docsAsset)
	r.Get("/problems/{slug}", s.problemPage)
	return r
}

func (s *server) apiRoutes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.cors)
	r.NotFound(s.notFound)
	r.MethodNotAllowed(s.methodNotAllowed)
	r.Get("/live", s.live)
	r.Group(func(r chi.Router) {
		r.Use(s.gate.middleware, s.limitBody, s.timeout)
		s.register(r)
	})
	return r
}
