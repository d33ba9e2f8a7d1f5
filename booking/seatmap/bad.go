package seatmap

import (
	"context"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
)

// badMemory is how many places badOnce remembers.
const badMemory = 256

// badOnce logs that something in a place makes no sense: once for each place, so that rubbish that
// stays there doesn't fill the log.
type badOnce struct {
	logger *slog.Logger
	what   string

	mu    sync.Mutex
	known map[string]bool
}

func (b *badOnce) report(ctx context.Context, place string, err error) {
	b.mu.Lock()
	seen := b.known[place]
	if !seen {
		if b.known == nil || len(b.known) >= badMemory {
			b.known = map[string]bool{}
		}
		b.known[place] = true
	}
	b.mu.Unlock()
	if !seen {
		b.logger.WarnContext(ctx, "seatmap: makes no sense", slog.String("what", b.what),
			slog.String("place", place), slog.Any("error", err))
	}
}

// wrongType says that the key holds something else than a hash.
func wrongType(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGTYPE")
}
