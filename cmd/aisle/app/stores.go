package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/coord"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/lock"
	"github.com/aislehq/aisle/web/ops"
)

// retryEvery is the pause between attempts to reach PostgreSQL at start.
const retryEvery = 200 * time.Millisecond

// stores are the replica's ways to what it doesn't own. redis and coord are nil when not configured.
type stores struct {
	pool  *pgxpool.Pool
	log   *eventstore.Store
	redis redis.UniversalClient
	coord *coord.Coord
}

func (s *stores) close() {
	if s.redis != nil {
		_ = s.redis.Close()
	}
	s.pool.Close()
}

func (a *App) openStores(ctx context.Context) (_ *stores, err error) {
	s := &stores{}
	s.pool, err = eventstore.NewPool(ctx, a.cfg.PostgresURL, eventstore.PoolConfig{MaxConns: a.cfg.PostgresPool})
	if err != nil {
		return nil, fmt.Errorf("--postgres-url: %w", err)
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.log, err = a.openLog(ctx, s.pool); err != nil {
		return nil, err
	}
	if a.cfg.RedisURL == "" {
		a.logger.WarnContext(ctx, "running without Redis: sales are guarded by the log alone, slower")
	} else if s.redis, err = lock.NewClient(a.cfg.RedisURL); err != nil {
		return nil, fmt.Errorf("--redis-url: %w", err)
	}
	if len(a.cfg.EtcdEndpoints) == 0 {
		a.logger.WarnContext(ctx, "running without etcd: no replica leads")
		return s, nil
	}
	s.coord, err = coord.New(coord.Config{
		Endpoints: a.cfg.EtcdEndpoints, ID: a.id.String(), Prefix: "/" + a.cfg.Namespace,
		TTL: a.cfg.LeaderTTL, Logger: a.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("--etcd-endpoints: %w", err)
	}
	return s, nil
}

// openLog tries for StartTimeout: replicas and their database are often started together.
func (a *App) openLog(ctx context.Context, pool *pgxpool.Pool) (*eventstore.Store, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, StartTimeout, errStartTimeout)
	defer cancel()
	for {
		log, err := eventstore.Open(ctx, pool, eventstore.Config{
			Lanes: a.cfg.Lanes, Logger: a.logger,
			OnFlush: func(f eventstore.FlushStats) {
				a.metrics.Flushed(ops.Flush{
					Requests: f.Requests, Passed: f.Passed, Events: f.Events, Rounds: f.Rounds,
					Wait: f.Wait, Took: f.Took, Failed: f.Err != nil,
				})
			},
		})
		if err == nil {
			return log, nil
		}
		if !errors.Is(err, eventstore.ErrUnavailable) && ctx.Err() == nil {
			return nil, err
		}
		a.logger.DebugContext(ctx, "PostgreSQL is not there yet", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(retryEvery):
		}
	}
}

// errStartTimeout: PostgreSQL wasn't there in time.
var errStartTimeout = fmt.Errorf("can't reach PostgreSQL (--postgres-url) within %s", StartTimeout)
