package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/coord"
)

const (
	// office is what the leader is elected to.
	office = "projector"
	// sweepEvery is how often a replica without a leader looks for expired holds in what it watches.
	sweepEvery = time.Second
	// announceEvery is how often the registry hears of this replica's load.
	announceEvery = 5 * time.Second
)

// goBackground starts everything that the replica does on its own account.
func (a *App) goBackground(ctx context.Context, group *errgroup.Group, p *parts) {
	// The lanes end last: whatever else is ending may still append.
	lanes, endLanes := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return p.log.Run(lanes) })
	group.Go(func() error {
		defer endLanes()
		return a.runInner(ctx, p)
	})
}

func (a *App) runInner(ctx context.Context, p *parts) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.live.Run(ctx) })
	group.Go(func() error { return p.catalogue.Run(ctx) })
	group.Go(func() error { return p.sessions.Run(ctx, p.hub.Sessions, p.hub.EndSession) })
	group.Go(func() error { return a.watchStores(ctx, p) })
	group.Go(func() error { return a.sweep(ctx, p) })
	if p.hinter != nil {
		group.Go(func() error { return p.hinter.Run(ctx) })
	}
	if p.coord != nil {
		group.Go(func() error { return p.coord.Run(ctx) })
		group.Go(func() error { return a.announce(ctx, p) })
	}
	if p.coord != nil && p.redis != nil {
		group.Go(func() error { return a.stand(ctx, p) })
	}
	return group.Wait()
}

// stand runs for leadership, and projects while this replica leads.
func (a *App) stand(ctx context.Context, p *parts) error {
	projector, err := seatmap.NewProjector(seatmap.ProjectorConfig{
		Prefix: a.redisPrefix(), Logger: a.logger, LockKey: p.locker.Key,
		Sweep:     func(ctx context.Context) (int, error) { return p.service.SweepExpired(ctx, nil) },
		OnSummary: func(showing uuid.UUID, s seatmap.Summary) { a.summarise(p, showing, s) },
		OnWrite:   a.metrics.Projected,
	}, p.log, p.redis, p.catalogue)
	if err != nil {
		return err
	}
	return p.coord.Elect(ctx, office, func(term context.Context, t coord.Term) error {
		a.metrics.Leading(true)
		defer a.metrics.Leading(false)
		a.logger.InfoContext(term, "leading", slog.Int64("epoch", t.Epoch))
		return projector.Run(term, seatmap.Term{Epoch: t.Epoch, Remaining: t.Remaining})
	})
}

func (a *App) summarise(p *parts, showing uuid.UUID, s seatmap.Summary) {
	p.coord.Summaries().Put(showing.String(), coord.Summary{Left: s.Available, Seq: s.Seq, Epoch: s.Epoch})
}

// sweep ends expired holds of the watched showings while nobody leads; the guard makes it harmless
// that several replicas do so.
func (a *App) sweep(ctx context.Context, p *parts) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if p.led() {
			continue
		}
		watched := p.live.Watched()
		if len(watched) == 0 {
			continue
		}
		if _, err := p.service.SweepExpired(ctx, watched); err != nil && ctx.Err() == nil {
			a.logger.DebugContext(ctx, "expired holds could not be swept", slog.Any("error", err))
		}
	}
}

// led says whether someone leads, as far as this replica can tell.
func (p *parts) led() bool {
	if p.coord == nil || p.redis == nil || !p.coord.Connected() {
		return false
	}
	_, known := p.coord.Leader(office)
	return known
}

// announce keeps this replica's entry in the registry true.
func (a *App) announce(ctx context.Context, p *parts) error {
	address := a.cfg.Advertise
	if address == "" {
		address = p.url
	}
	since := time.Now().UTC()
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		sockets := p.hub.Sockets()
		p.coord.Announce(coord.Replica{
			Address: address, Version: a.version, Since: since,
			Sockets: sockets, Load: float64(sockets) / float64(a.cfg.MaxSockets),
		})
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
