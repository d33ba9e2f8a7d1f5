package stacktest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/localstack"
)

// Postgres is the owner's URL with a fresh schema of the test's own in front of the search path. The schema is
// dropped at the test's end.
func Postgres(t testing.TB) string {
	t.Helper()
	stack := process.get(t, localstack.Postgres)
	name := "t_" + unique()
	execute(t, "CREATE SCHEMA "+quote(name))
	t.Cleanup(func() { execute(t, "DROP SCHEMA "+quote(name)+" CASCADE") })
	return withQuery(t, stack.PostgresURL(), "search_path", name)
}

// Database is the owner's URL of a fresh database, for tests that need roles or a whole database. It is dropped
// at the test's end, whoever is still connected.
func Database(t testing.TB) string {
	t.Helper()
	stack := process.get(t, localstack.Postgres)
	name := "d_" + unique()
	execute(t, "CREATE DATABASE "+quote(name))
	t.Cleanup(func() { execute(t, "DROP DATABASE "+quote(name)+" WITH (FORCE)") })
	u := parse(t, stack.PostgresURL())
	u.Path = "/" + name
	return u.String()
}

// Redis is the URL of the shared Redis and a key prefix of the test's own, ending in a colon.
func Redis(t testing.TB) (redisURL, prefix string) {
	t.Helper()
	return process.get(t, localstack.Redis).RedisURL(), unique() + ":"
}

// Etcd is the endpoints of the shared etcd and a key prefix of the test's own, beginning with a slash.
func Etcd(t testing.TB) (endpoints []string, prefix string) {
	t.Helper()
	return process.get(t, localstack.Etcd).EtcdEndpoints(), "/" + unique()
}

func unique() string { return strings.ToLower(rand.Text()) }

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func execute(t testing.TB, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stopTimeout)
	defer cancel()
	if _, err := process.admin.Exec(ctx, sql); err != nil {
		t.Error(fmt.Errorf("%s: %w", sql, err))
	}
}

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func withQuery(t testing.TB, raw, key, value string) string {
	t.Helper()
	u := parse(t, raw)
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}
