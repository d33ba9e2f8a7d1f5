// Package engine is Aisle's own contestant: what sells seats in one replica, wired as `aisle serve` wires it, in this
// process and without the web in front. The projector runs, as on the replica that leads; etcd's part, to say who
// leads, is left out.
package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
)

// lease is how long the projector's snapshots live without being refreshed: that of the default --leader-ttl.
const lease = 5 * time.Second

// Config is what the engine runs on.
type Config struct {
	// URL is that of an empty database. Prefix stands before its keys in Redis.
	URL, Prefix string
	Redis       redis.UniversalClient
	// OnWrite hears of each write of the projector and how old its latest event was. Default: nobody does.
	OnWrite func(lag time.Duration)
	// WithoutProjector leaves it to the caller to run Project. Default: it runs.
	WithoutProjector bool
	// Logger takes what goes wrong.
	Logger *slog.Logger
}

// Engine sells seats as a replica does. It is a rivals.Booker.
type Engine struct {
	cfg       Config
	pool      *pgxpool.Pool
	log       *eventstore.Store
	catalogue *catalogue.Catalogue
	live      *seatmap.Live
	hinter    *seatmap.Hinter
	locker    *lock.Locker
	service   *booking.Service
	epoch     atomic.Int64
	end       context.CancelFunc
	done      sync.WaitGroup
	// open is what was put on sale last.
	open []uuid.UUID
}

// Open migrates the database and starts the engine.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if _, err := eventstore.Migrate(ctx, cfg.URL, ""); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg}
	var err error
	if e.pool, err = eventstore.NewPool(ctx, cfg.URL, eventstore.PoolConfig{}); err != nil {
		return nil, err
	}
	if err := e.build(ctx); err != nil {
		e.pool.Close()
		return nil, err
	}
	e.start(context.WithoutCancel(ctx))
	return e, nil
}

func (e *Engine) build(ctx context.Context) (err error) {
	if e.log, err = eventstore.Open(ctx, e.pool, eventstore.Config{Logger: e.cfg.Logger}); err != nil {
		return err
	}
	if e.catalogue, err = catalogue.New(e.pool, catalogue.Config{Logger: e.cfg.Logger}); err != nil {
		return err
	}
	e.live, err = seatmap.NewLive(seatmap.LiveConfig{Prefix: e.cfg.Prefix, Logger: e.cfg.Logger}, e.log, e.cfg.Redis, e.catalogue)
	if err != nil {
		return err
	}
	if e.hinter, err = seatmap.NewHinter(seatmap.HinterConfig{Prefix: e.cfg.Prefix, Logger: e.cfg.Logger}, e.cfg.Redis); err != nil {
		return err
	}
	if e.locker, err = lock.New(e.cfg.Redis, lock.Config{Prefix: e.cfg.Prefix}); err != nil {
		return err
	}
	e.service, err = booking.NewService(booking.Config{
		HoldFor: rivals.HoldFor, Appended: e.live.Offer, Notify: e.hinter.Notify, Logger: e.cfg.Logger,
	}, e.log, e.locker, e.catalogue, e.live)
	return err
}

// start runs what a replica does on its own account, until Close.
func (e *Engine) start(ctx context.Context) {
	ctx, e.end = context.WithCancel(ctx)
	parts := []func(context.Context) error{e.log.Run, e.live.Run, e.catalogue.Run, e.hinter.Run}
	if !e.cfg.WithoutProjector {
		parts = append(parts, func(ctx context.Context) error { return e.Project(ctx, nil) })
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range parts {
		group.Go(func() error { return run(ctx) })
	}
	e.done.Go(func() {
		if err := group.Wait(); err != nil {
			e.cfg.Logger.ErrorContext(ctx, "a part of the engine failed", slog.Any("error", err))
		}
	})
}

// Project leads for one term, until ctx ends. onSummary, when given, is told where each showing stands.
func (e *Engine) Project(ctx context.Context, onSummary func(uuid.UUID, seatmap.Summary)) error {
	projector, err := seatmap.NewProjector(seatmap.ProjectorConfig{
		Prefix: e.cfg.Prefix, Logger: e.cfg.Logger, LockKey: e.locker.Key, OnSummary: onSummary,
		Sweep: func(ctx context.Context) (int, error) { return e.service.SweepExpired(ctx, nil) },
		OnWrite: func(outcome string, lag time.Duration) {
			if e.cfg.OnWrite != nil && outcome == "ok" && lag > 0 {
				e.cfg.OnWrite(lag)
			}
		},
	}, e.log, e.cfg.Redis, e.catalogue)
	if err != nil {
		return err
	}
	return projector.Run(ctx, seatmap.Term{Epoch: e.epoch.Add(1), Remaining: func() time.Duration { return lease }})
}

// Prepare is Booker's. Showings that were on sale before are closed: nobody buys for them any more.
func (e *Engine) Prepare(ctx context.Context, h rivals.House) error {
	for _, old := range e.open {
		if err := e.log.CloseStream(ctx, old); err != nil {
			return err
		}
	}
	if err := Sell(ctx, e.pool, e.log, h); err != nil {
		return err
	}
	e.open = h.Showings
	if err := e.catalogue.Load(ctx); err != nil {
		return err
	}
	// Somebody looks at what is on sale, as a rule.
	for _, showing := range h.Showings {
		m, err := e.live.Open(ctx, showing)
		if err != nil {
			return err
		}
		m.Close()
	}
	return nil
}

// Hold is Booker's.
func (e *Engine) Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	codes := make([]booking.Seat, len(seats))
	for i, seat := range seats {
		codes[i] = booking.Seat(seat)
	}
	b, err := e.service.Hold(ctx, newCommand(session, "hold"), showing, codes)
	if _, taken := errors.AsType[*booking.SeatsUnavailableError](err); taken {
		return b.ID, rivals.ErrTaken
	}
	return b.ID, err
}

// Confirm is Booker's.
func (e *Engine) Confirm(ctx context.Context, session, id uuid.UUID) error {
	_, err := e.service.Confirm(ctx, newCommand(session, "confirm"), id)
	if errors.Is(err, booking.ErrHoldExpired) || errors.Is(err, booking.ErrNotFound) {
		return rivals.ErrNotHeld
	}
	return err
}

// newCommand has an Idempotency-Key of its own, as every request of a browser has.
func newCommand(session uuid.UUID, route string) booking.Command {
	key := uuid.NewString()
	return booking.Command{Session: session, Key: key, Route: route, Body: sha256.Sum256([]byte(key))}
}

// Locker is the engine's locks.
func (e *Engine) Locker() *lock.Locker { return e.locker }

// Log is the engine's log.
func (e *Engine) Log() *eventstore.Store { return e.log }

// Close ends everything and waits for it.
func (e *Engine) Close() {
	e.end()
	e.done.Wait()
	e.pool.Close()
}
