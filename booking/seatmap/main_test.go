package seatmap

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // it says each failed dial
	os.Exit(stacktest.Main(m, localstack.Postgres|localstack.Redis))
}

// silence is a logger for the Redis client.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
