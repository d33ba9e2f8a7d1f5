package seatmap

import (
	"context"
	"log/slog"
	"sync"
)

// outage logs the first failure of something that is tried again and again, and its recovery, instead
// of every failure.
type outage struct {
	logger *slog.Logger
	what   string

	mu   sync.Mutex
	down bool
}

// report takes the outcome of one try. The end of ctx is nobody's failure.
func (o *outage) report(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	was := o.down
	o.down = err != nil
	o.mu.Unlock()
	switch {
	case err != nil && !was:
		o.logger.WarnContext(ctx, "seatmap: out of order", slog.String("what", o.what), slog.Any("error", err))
	case err == nil && was:
		o.logger.InfoContext(ctx, "seatmap: in order again", slog.String("what", o.what))
	}
}
