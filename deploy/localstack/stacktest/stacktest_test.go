package stacktest_test

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m, localstack.All)) }

func TestPostgresGivesEachTestItsOwnSchema(t *testing.T) {
	t.Parallel()
	for range 2 {
		conn, err := pgx.Connect(t.Context(), stacktest.Postgres(t))
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "CREATE TABLE seats (code text)")
		require.NoError(t, err, "the second schema knows nothing of the first one's table")
		require.NoError(t, conn.Close(t.Context()))
	}
}

func TestDatabaseIsFresh(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), stacktest.Database(t))
	require.NoError(t, err)
	var name string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
	assert.NotEqual(t, "aisle", name)
	// Left open on purpose: the database is dropped all the same.
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
}

func TestRedisAndEtcdAnswer(t *testing.T) {
	t.Parallel()
	redisURL, prefix := stacktest.Redis(t)
	options, err := redis.ParseURL(redisURL)
	require.NoError(t, err)
	client := redis.NewClient(options)
	require.NoError(t, client.Set(t.Context(), prefix+"k", "v", time.Minute).Err())
	require.NoError(t, client.Close())

	endpoints, prefix := stacktest.Etcd(t)
	etcd, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
	require.NoError(t, err)
	_, err = etcd.Put(t.Context(), prefix+"/k", "v")
	require.NoError(t, err)
	require.NoError(t, etcd.Close())
}
