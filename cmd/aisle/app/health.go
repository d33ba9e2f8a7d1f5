package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aislehq/aisle/web/ops"
)

const (
	// pingEvery is how often the stores are asked whether they are there, and pingTimeout how long each
	// may take to say so.
	pingEvery   = time.Second
	pingTimeout = 2 * time.Second
)

// health is what was last known of the stores.
type health struct{ postgres, redis atomic.Bool }

// readiness is what this replica can do now. Maps that are in memory are shown without any store.
func (a *App) readiness(p *parts) ops.Readiness {
	r := ops.Readiness{State: a.state.Load().(ops.State), CanShow: true, CanSell: p.health.postgres.Load()}
	for _, store := range []struct {
		name string
		here bool
	}{
		{"postgresql", p.health.postgres.Load()},
		{"redis", p.health.redis.Load()},
		{"etcd", p.coord != nil && p.coord.Connected()},
	} {
		if !store.here {
			r.Missing = append(r.Missing, store.name)
		}
	}
	r.CanShow = r.CanSell || p.health.redis.Load() || len(p.live.Watched()) > 0
	return r
}

// watchStores keeps health true until ctx ends.
func (a *App) watchStores(ctx context.Context, p *parts) error {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		p.health.postgres.Store(answers(ctx, p.log.Ping))
		p.health.redis.Store(p.redis != nil && answers(ctx, func(ctx context.Context) error {
			return p.redis.Ping(ctx).Err()
		}))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, ping func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return ping(ctx) == nil
}
