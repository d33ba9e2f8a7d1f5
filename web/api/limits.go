package api

import (
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

// maxBuckets is how many sessions or addresses a limiter keeps in mind. Whoever is forgotten starts with a
// full bucket; the ones seen most stay.
const maxBuckets = 50_000

// limiter gives each key a bucket of its own, in bounded memory.
type limiter struct {
	limit   Limit
	buckets *otter.Cache[string, *rate.Limiter]
	now     func() time.Time
}

// newLimiter returns nil, which limits nobody, when the limit is off.
func newLimiter(limit Limit, now func() time.Time) (*limiter, error) {
	if limit.off() {
		return nil, nil //nolint:nilnil // a nil limiter limits nobody
	}
	buckets, err := otter.New(&otter.Options[string, *rate.Limiter]{MaximumSize: maxBuckets})
	if err != nil {
		return nil, fmt.Errorf("api: limiter: %w", err)
	}
	return &limiter{limit: limit, buckets: buckets, now: now}, nil
}

// take takes one from the key's bucket, or says how long to wait until there is one.
func (l *limiter) take(key string) (wait time.Duration) {
	if l == nil {
		return 0
	}
	now := l.now()
	reservation := l.bucket(key).ReserveN(now, 1)
	wait = reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// empty says how long the key's bucket will have nothing in it, taking nothing.
func (l *limiter) empty(key string) (wait time.Duration) {
	if l == nil {
		return 0
	}
	now := l.now()
	tokens := l.bucket(key).TokensAt(now)
	if tokens >= 1 {
		return 0
	}
	return time.Duration((1 - tokens) / l.limit.PerSecond * float64(time.Second))
}

func (l *limiter) bucket(key string) *rate.Limiter {
	if bucket, ok := l.buckets.GetIfPresent(key); ok {
		return bucket
	}
	bucket, _ := l.buckets.ComputeIfAbsent(key, func() (*rate.Limiter, bool) {
		return rate.NewLimiter(rate.Limit(l.limit.PerSecond), l.limit.Burst), false
	})
	return bucket
}

func rateLimited(wait time.Duration) *problem {
	return newProblem(kindRateLimited, "That was too much at once; see Retry-After.").retryAfter(wait)
}
