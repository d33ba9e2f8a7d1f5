package localstack

import (
	"context"
	"log/slog"
	"time"
)

// watchEvery is how often Watch looks whether a store has died.
const watchEvery = 250 * time.Millisecond

// maxRestartPause bounds the wait between two attempts to start a store again.
const maxRestartPause = 10 * time.Second

// Watch starts again each store that died by itself, until ctx ends. Stores that were stopped or killed
// through the Stack stay down.
func (s *Stack) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	wait := watchEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.restartDead(ctx) {
			wait = watchEvery
			continue
		}
		if wait = min(2*wait, maxRestartPause); pause(ctx, wait) != nil {
			return
		}
	}
}

// restartDead starts the stores that should be up and are not; false when one could not be started.
func (s *Stack) restartDead(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := true
	for _, st := range s.stores() {
		if !s.started.Has(st.service) || !isClosed(st.run.died()) {
			continue
		}
		s.cfg.Logger.WarnContext(ctx, "a store died and is started again", slog.String("store", st.name))
		if err := st.run.stop(ctx); err != nil {
			s.cfg.Logger.ErrorContext(ctx, "a dead store can't be put away", slog.String("store", st.name), slog.Any("error", err))
		}
		if err := s.startLocked(ctx, st); err != nil {
			all = false
			s.cfg.Logger.ErrorContext(ctx, "a store does not start again", slog.String("store", st.name), slog.Any("error", err))
		}
	}
	return all
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
