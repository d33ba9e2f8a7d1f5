package lock_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/lock"
)

func TestMain(m *testing.M) {
	logging.Disable() // what the client says of servers that the tests killed
	os.Exit(stacktest.Main(m, localstack.Redis))
}

// rig is a Redis of some kind with a Locker on it, under a prefix of the test's own.
type rig struct {
	*lock.Locker
	client redis.UniversalClient
	cfg    lock.Config
}

func newRig(tb testing.TB, url, prefix string) *rig {
	tb.Helper()
	client, err := lock.NewClient(url)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, client.Close()) })
	return rigOn(tb, client, lock.Config{Prefix: prefix, Timeout: patience})
}

// patience stands in for Config.Timeout where a test is not about it: the machine may be busy.
const patience = 10 * time.Second

func rigOn(tb testing.TB, client redis.UniversalClient, cfg lock.Config) *rig {
	tb.Helper()
	locker, err := lock.New(client, cfg)
	require.NoError(tb, err)
	return &rig{Locker: locker, client: client, cfg: cfg}
}

func single(tb testing.TB) *rig {
	tb.Helper()
	url, prefix := stacktest.Redis(tb)
	return newRig(tb, url, prefix)
}

// over puts the deadlines of the seats' locks into the past, as if their time had gone by.
func (r *rig) over(ctx context.Context, t *testing.T, showing uuid.UUID, seats ...string) {
	t.Helper()
	key := r.Key(showing)
	for _, seat := range seats {
		value, err := r.client.HGet(ctx, key, seat).Result()
		require.NoError(t, err)
		require.NoError(t, r.client.HSet(ctx, key, seat, value[:36]+"|1|"+ids(value)).Err())
	}
}

// ids is the part of a field's value that lists its acquisitions.
func ids(value string) string {
	return strings.SplitN(value, "|", 3)[2]
}

// owners reads who has what of a showing, without the package's own code: live locks or not.
func (r *rig) owners(ctx context.Context, t *testing.T, showing uuid.UUID) map[string]uuid.UUID {
	t.Helper()
	fields, err := r.client.HGetAll(ctx, r.Key(showing)).Result()
	require.NoError(t, err)
	owners := map[string]uuid.UUID{}
	for seat, value := range fields {
		if seat != "#" {
			owners[seat] = uuid.MustParse(value[:36])
		}
	}
	return owners
}

// want is a request of a showing's seats with a long life.
func want(showing, owner uuid.UUID, id string, seats ...string) lock.Request {
	return lock.Request{Showing: showing, Owner: owner, ID: id, Seats: seats, TTL: time.Minute}
}
