package eventstore_test

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

func TestMigrateSaysWhatItDid(t *testing.T) {
	t.Parallel()
	owner := stacktest.Postgres(t)
	first, err := eventstore.Migrate(t.Context(), owner, "")
	require.NoError(t, err)
	assert.Zero(t, first.From)
	require.NotEmpty(t, first.Applied)
	assert.Equal(t, "00001_log.sql", first.Applied[0].Name)
	assert.Equal(t, first.Applied[len(first.Applied)-1].Version, first.To)
	assert.Equal(t, []string{"append_batch", "close_stream", "log_id", "open_stream", "recall"}, first.Functions)
	assert.Contains(t, first.String(), "applied 00001_log.sql in ")
	assert.Contains(t, first.String(), "replaced functions: append_batch, ")

	again, err := eventstore.Migrate(t.Context(), owner, "")
	require.NoError(t, err)
	assert.Equal(t, eventstore.MigrationReport{Schema: first.Schema, From: first.To, To: first.To}, again)
}

func TestMigrateReplacesAFunctionThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	f.exec(t, `COMMENT ON FUNCTION recall IS 'sha256:of an older text'`)
	report, err := eventstore.Migrate(t.Context(), f.url, "")
	require.NoError(t, err)
	assert.Equal(t, []string{"recall"}, report.Functions)
}

// Three replicas start at once on an empty database.
func TestMigrateFromManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	owner := stacktest.Postgres(t)
	reports := make([]eventstore.MigrationReport, 3)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range reports {
		group.Go(func() (err error) {
			reports[i], err = eventstore.Migrate(ctx, owner, "")
			return err
		})
	}
	require.NoError(t, group.Wait())
	applied := 0
	for _, r := range reports {
		applied += len(r.Applied)
		assert.Equal(t, reports[0].To, r.To)
	}
	assert.EqualValues(t, reports[0].To, applied, "each migration once")
}

func TestOpenWantsAMigratedDatabase(t *testing.T) {
	t.Parallel()
	owner := stacktest.Postgres(t)
	pool := newPool(t, owner, eventstore.PoolConfig{})
	_, err := eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.ErrorIs(t, err, eventstore.ErrSchema)

	report, err := eventstore.Migrate(t.Context(), owner, "")
	require.NoError(t, err)
	_, err = eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.NoError(t, err)

	// Newer is fine: a replica of the version before goes on during an upgrade.
	_, err = pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", report.To+1)
	require.NoError(t, err)
	_, err = eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.NoError(t, err)

	_, err = pool.Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id >= $1", report.To)
	require.NoError(t, err)
	_, err = eventstore.Open(t.Context(), pool, eventstore.Config{})
	require.ErrorIs(t, err, eventstore.ErrSchema)
}

func TestMigrateNeedsASchema(t *testing.T) {
	t.Parallel()
	_, err := eventstore.Migrate(t.Context(), withQuery(t, stacktest.Postgres(t), "search_path", "nowhere"), "")
	require.ErrorContains(t, err, "search_path names no schema")
}

// appRole makes a role that may log in, and returns a URL for it.
func appRole(t *testing.T, owner string) (role, roleURL string) {
	t.Helper()
	role = "app_" + uuid.NewString()
	quoted := pgx.Identifier{role}.Sanitize()
	conn, err := pgx.Connect(t.Context(), owner)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, err := conn.Exec(ctx, "DROP OWNED BY "+quoted+"; DROP ROLE "+quoted)
		assert.NoError(t, err)
		assert.NoError(t, conn.Close(ctx))
	})
	_, err = conn.Exec(t.Context(), "CREATE ROLE "+quoted+" LOGIN PASSWORD 'app'")
	require.NoError(t, err)
	u, err := url.Parse(owner)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "app")
	return role, u.String()
}

func withQuery(t *testing.T, raw, key, value string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// The application's role sells seats, but it can't rewrite what was sold, by whatever way it tries.
func TestApplicationRoleCannotRewriteThePast(t *testing.T) {
	t.Parallel()
	owner := stacktest.Postgres(t)
	role, roleURL := appRole(t, owner)
	report, err := eventstore.Migrate(t.Context(), owner, role)
	require.NoError(t, err)
	assert.Equal(t, role, report.Role)

	f := openStore(t, owner, roleURL, eventstore.Config{})
	stream := f.stream(t)
	req := hold(stream, uuid.New(), uuid.New(), "seat:A1")
	req.Command = command("k1")
	_, err = f.Append(t.Context(), req)
	require.NoError(t, err)
	_, err = f.Append(t.Context(), req)
	require.NoError(t, err)
	_, _, err = f.Booking(t.Context(), req.Bookings[0].ID)
	require.NoError(t, err)
	_, err = f.Expired(t.Context(), nil, 10)
	require.NoError(t, err)
	cursors := f.PostgresCursors("test")
	require.NoError(t, cursors.Save(t.Context(), f.LogID(), map[uuid.UUID]eventstore.Position{stream: {Seq: 1}}))
	require.NoError(t, f.CloseStream(t.Context(), stream))

	app, err := pgx.Connect(t.Context(), roleURL)
	require.NoError(t, err)
	defer func() { _ = app.Close(t.Context()) }()
	for _, forbidden := range []string{
		"UPDATE events SET entity = 'seat:Z9'",
		"DELETE FROM events",
		"TRUNCATE events",
		"INSERT INTO events SELECT stream, 99, id, 'seat:Z9', 0, type, data, deadline, at FROM events LIMIT 1",
		"UPDATE streams SET head = 0",
		"DELETE FROM streams",
		"INSERT INTO streams (id, head, event) VALUES (gen_random_uuid(), 1, gen_random_uuid())",
		"SELECT FROM streams FOR UPDATE",
		"UPDATE bookings SET state = 'confirmed'",
		"DELETE FROM commands",
		"UPDATE log SET id = 'mine'",
		"ALTER TABLE events DISABLE TRIGGER ALL",
		"DROP TABLE events",
		"DELETE FROM goose_db_version",
		"CREATE OR REPLACE FUNCTION log_id() RETURNS text LANGUAGE sql AS $$ SELECT 'mine' $$",
	} {
		_, err := app.Exec(t.Context(), forbidden)
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr, forbidden)
		assert.Equal(t, "42501", pgErr.Code, "%s: %s", forbidden, pgErr.Message)
	}

	// A temporary table doesn't pose as the log's.
	_, err = app.Exec(t.Context(), "CREATE TEMPORARY TABLE streams (id uuid, head bigint, event uuid, open boolean)")
	require.NoError(t, err)
	var opened bool
	require.NoError(t, app.QueryRow(t.Context(),
		"SELECT open_stream(gen_random_uuid(), gen_random_uuid(), 'showing', 'Opened', '{}')").Scan(&opened))
	var streams int
	f.scan(t, "SELECT count(*) FROM streams", nil, &streams)
	assert.Equal(t, 2, streams)
}

// What a role had beyond the list goes when the list is applied again.
func TestMigrateTakesBackWhatIsNotNeeded(t *testing.T) {
	t.Parallel()
	owner := stacktest.Postgres(t)
	role, roleURL := appRole(t, owner)
	_, err := eventstore.Migrate(t.Context(), owner, role)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), owner)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), "GRANT ALL ON events, streams TO "+pgx.Identifier{role}.Sanitize())
	require.NoError(t, err)

	_, err = eventstore.Migrate(t.Context(), owner, role)
	require.NoError(t, err)

	app, err := pgx.Connect(t.Context(), roleURL)
	require.NoError(t, err)
	defer func() { _ = app.Close(t.Context()) }()
	_, err = app.Exec(t.Context(), "UPDATE streams SET head = 0")
	require.ErrorContains(t, err, "permission denied")
}

// Not even the owner changes an event by mistake.
func TestEventsAreFinal(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	f.stream(t)
	for _, forbidden := range []string{
		"UPDATE events SET entity = 'seat:Z9'", "DELETE FROM events", "TRUNCATE events",
	} {
		_, err := f.pool.Exec(t.Context(), forbidden)
		require.ErrorContains(t, err, "events are final", forbidden)
	}
}

// A dump restored elsewhere is another history, and so is what goes on where it was made; a restart is not.
func TestRestoredLogHasAnotherID(t *testing.T) {
	t.Parallel()
	from, to := stacktest.Database(t), stacktest.Database(t)
	_, err := eventstore.Migrate(t.Context(), from, "")
	require.NoError(t, err)
	f := openStore(t, from, from, eventstore.Config{})
	stream := f.stream(t)
	for range 3 {
		heads, err := f.Heads(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, f.LogID(), heads.Log)
	}

	dump := filepath.Join(t.TempDir(), "log.dump")
	pgTool(t, "pg_dump", "--format=custom", "--file="+dump, "--dbname="+from)
	pgTool(t, "pg_restore", "--dbname="+to, dump)

	g := openStore(t, to, to, eventstore.Config{})
	assert.NotEqual(t, f.LogID(), g.LogID())
	read, err := g.Read(t.Context(), stream, 0, 10)
	require.NoError(t, err)
	assert.Len(t, read, 1)
	_, err = g.Append(t.Context(), eventstore.Request{Stream: stream, Events: events("seat:A1")})
	require.NoError(t, err)
	report, err := eventstore.Migrate(t.Context(), to, "")
	require.NoError(t, err)
	assert.Empty(t, report.Functions, "the functions came along")
	heads, err := f.Heads(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, f.LogID(), heads.Log)
}

// Many replicas find a restored log at once: they agree on its new id.
func TestReplicasAgreeOnTheNewID(t *testing.T) {
	t.Parallel()
	f := newStore(t, eventstore.Config{})
	old := f.LogID()
	f.exec(t, "UPDATE log SET fingerprint = 'elsewhere'")
	ids := make([]string, 8)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range ids {
		group.Go(func() error {
			heads, err := f.Heads(ctx, nil)
			ids[i] = heads.Log
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, id := range ids {
		assert.Equal(t, ids[0], id)
	}
	assert.NotEqual(t, old, ids[0])
	assert.Equal(t, ids[0], f.LogID())
}

func pgTool(t *testing.T, name string, args ...string) {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	if path, err := exec.LookPath(name); err == nil {
		found = append(found, path)
	}
	require.NotEmpty(t, found, "%s is missing: apt-get install postgresql-client", name)
	out, err := exec.CommandContext(t.Context(), found[0], args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
}
