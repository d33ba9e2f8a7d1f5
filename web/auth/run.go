package auth

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// recheckBatch is how many sessions one query asks about.
	recheckBatch = 5000
	// purgeBatch is how many old sessions one statement removes.
	purgeBatch = 1000
	// keepEnded is how long a retry of the request that ended a session still finds its outcome.
	keepEnded = 24 * time.Hour
)

// Run asks every RecheckEvery which of the sessions that have open sockets are over, calls over with each, and
// now and then removes old sessions, until ctx ends. It returns nil then. While PostgreSQL is gone it calls
// over with none.
func (s *Sessions) Run(ctx context.Context, open func() []uuid.UUID, over func(session uuid.UUID)) error {
	recheck := time.NewTicker(s.cfg.RecheckEvery)
	defer recheck.Stop()
	// Replicas started together purge apart.
	purge := time.NewTimer(rand.N(s.cfg.PurgeEvery)) //nolint:gosec // spread, no secret
	defer purge.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-recheck.C:
			s.recheck(ctx, open(), over)
		case <-purge.C:
			s.purge(ctx)
			purge.Reset(s.cfg.PurgeEvery)
		}
	}
}

func (s *Sessions) recheck(ctx context.Context, ids []uuid.UUID, over func(uuid.UUID)) {
	for len(ids) > 0 {
		batch := ids[:min(len(ids), recheckBatch)]
		ids = ids[len(batch):]
		ended, err := s.endedAmong(ctx, batch)
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "the sessions of open sockets could not be rechecked", slog.Any("error", err))
			}
			return
		}
		for _, id := range ended {
			over(id)
		}
	}
}

func (s *Sessions) endedAmong(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	rows, err := s.pool.Query(ctx, endedAmongSQL, ids)
	if err != nil {
		return nil, unavailable("recheck", err)
	}
	ended, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, unavailable("recheck", err)
	}
	return ended, nil
}

func (s *Sessions) purge(ctx context.Context) {
	for {
		done, err := s.purgeSome(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "old sessions could not be removed", slog.Any("error", err))
			}
			return
		}
		if done {
			return
		}
	}
}

func (s *Sessions) purgeSome(ctx context.Context) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	tag, err := s.pool.Exec(ctx, purgeSQL, keepEnded, purgeBatch)
	if err != nil {
		return false, unavailable("purge", err)
	}
	return tag.RowsAffected() < purgeBatch, nil
}
