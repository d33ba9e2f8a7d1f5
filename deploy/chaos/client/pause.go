package client

import (
	"context"
	"time"
)

// wait returns after d, or with ctx's error as soon as that ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// backoff counts failures in a row; its zero value is ready.
type backoff struct {
	failures int
}

// next returns first ×1.5 for each failure before this one, at most limit.
func (b *backoff) next(first, limit time.Duration) time.Duration {
	d := first
	for range b.failures {
		d = min(d*3/2, limit)
	}
	b.failures++
	return min(d, limit)
}

func (b *backoff) reset() { b.failures = 0 }

// nth returns the nth URL, around and around; "" if there is none.
func nth(urls []string, n int) string {
	if len(urls) == 0 {
		return ""
	}
	return urls[n%len(urls)]
}
