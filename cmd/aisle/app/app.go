package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/web/ops"
)

// App is one replica. It runs once.
type App struct {
	cfg     Config
	id      uuid.UUID
	version string
	logger  *slog.Logger
	metrics *ops.Metrics
	// ready is called with the public address once requests are answered.
	ready func(url string)

	// state is an ops.State.
	state atomic.Value
}

// New makes a replica; nothing is opened yet. version names the program, and ready is called once, with
// the address that the replica listens on, when it answers. The error says which setting is wrong.
func New(cfg Config, version string, logger *slog.Logger, ready func(url string)) (*App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("app: replica id: %w", err)
	}
	a := &App{
		cfg: cfg, id: id, version: version, ready: ready,
		logger: logger.With(slog.String("replica", id.String())), metrics: ops.NewMetrics(version),
	}
	a.state.Store(ops.Starting)
	return a, nil
}

// Run serves until ctx ends, drains within Config.DrainFor and returns nil. It returns an error when
// a listener can't be opened, PostgreSQL can't be reached within StartTimeout, or a part fails for good.
func (a *App) Run(ctx context.Context) error {
	var listen net.ListenConfig
	public, err := listen.Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return fmt.Errorf("can't listen on %s (--listen): %w", a.cfg.Listen, err)
	}
	defer func() { _ = public.Close() }()
	private, err := listen.Listen(ctx, "tcp", a.cfg.OpsListen)
	if err != nil {
		return fmt.Errorf("can't listen on %s (--ops-listen): %w", a.cfg.OpsListen, err)
	}
	defer func() { _ = private.Close() }()

	stores, err := a.openStores(ctx)
	if err != nil {
		return err
	}
	defer stores.close()
	parts, err := a.build(ctx, stores)
	if err != nil {
		return err
	}
	parts.url = "http://" + public.Addr().String()
	return a.runLayers(ctx, parts, public, private)
}

// runLayers runs the inner layer around the front, so that the front can end first.
func (a *App) runLayers(ctx context.Context, p *parts, public, private net.Listener) error {
	base := context.WithoutCancel(ctx)
	inner, endInner := context.WithCancelCause(base)
	defer endInner(nil)
	layer, inner := errgroup.WithContext(inner)
	a.goBackground(inner, layer, p)

	front, endFront := context.WithCancel(ctx)
	defer endFront()
	stop := context.AfterFunc(inner, endFront) // a part that failed takes the front with it
	defer stop()

	err := a.runFront(front, p, public, private)
	endInner(errFrontEnded)
	return errors.Join(err, ignoreEnd(layer.Wait()))
}

// errFrontEnded is why the inner layer ends in good order.
var errFrontEnded = errors.New("app: the front has ended")

// ignoreEnd drops the error of a part that merely ended because it was told to.
func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// drainPart is the share of the drain that clients get; the rest is for what lies beneath.
func (a *App) drainPart() time.Duration { return a.cfg.DrainFor * 3 / 4 }
