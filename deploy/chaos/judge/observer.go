package judge

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Observer looks on at what is projected into Redis.
type Observer struct{}

// Observe begins. The namespace is what stands before the colon of Aisle's keys.
func Observe(ctx context.Context, client redis.UniversalClient, namespace string) *Observer {
	return &Observer{}
}

// Reset says that Redis lost data or failed over, or that the log was replaced.
func (o *Observer) Reset() {}

// Messages is how many deltas were heard.
func (o *Observer) Messages() int64 { return 0 }

// Violations are those seen so far.
func (o *Observer) Violations() []Violation { return nil }

// Snapshots compares each showing's snapshot with the log, now.
func (o *Observer) Snapshots(ctx context.Context, maps map[uuid.UUID]Map, lease time.Duration) ([]Violation, error) {
	return nil, nil
}

// Close ends it.
func (o *Observer) Close() {}
