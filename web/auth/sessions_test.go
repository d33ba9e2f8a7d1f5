package auth_test

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
	"github.com/aislehq/aisle/web/auth"
)

// clock is a replica's clock that only the test moves.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

// site is a migrated database.
func site(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	_, err := eventstore.Migrate(t.Context(), url, "")
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// replica is one server's view of the sessions. A busy machine must not look like a lost database.
func replica(t *testing.T, pool *pgxpool.Pool, cfg auth.Config) *auth.Sessions {
	t.Helper()
	if cfg.QueryTimeout == 0 {
		cfg.QueryTimeout = time.Minute
	}
	sessions, err := auth.NewSessions(pool, cfg)
	require.NoError(t, err)
	return sessions
}

func TestATokenFindsItsSessionOnEveryReplica(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	here, there := replica(t, pool, auth.Config{}), replica(t, pool, auth.Config{})

	started, token, err := here.Start(t.Context())
	require.NoError(t, err)
	for _, r := range []*auth.Sessions{here, there} {
		found, err := r.Lookup(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, started, found)
	}

	other, otherToken, err := here.Start(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, started.ID, other.ID)
	require.NotEqual(t, token, otherToken)
}

// A copy of the table must open nothing.
func TestOnlyTheHashOfATokenIsKept(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	session, token, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	require.Len(t, token, 43, "256 bits in base64url")

	var row string
	var hash []byte
	require.NoError(t, pool.QueryRow(t.Context(),
		`SELECT sessions::text, token_hash FROM sessions WHERE id = $1`, session.ID).Scan(&row, &hash))
	require.NotContains(t, row, token)
	want := sha256.Sum256([]byte(token))
	require.Equal(t, want[:], hash)
}

func TestUnknownTokens(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	sessions := replica(t, pool, auth.Config{})
	_, token, err := sessions.Start(t.Context())
	require.NoError(t, err)
	before := pool.Stat().AcquireCount()

	for _, text := range []string{"", "x", token[:42], token + "A", " " + token, token[:42] + "!", "null"} {
		_, err := sessions.Lookup(t.Context(), text)
		require.ErrorIs(t, err, auth.ErrUnknown, "%q", text)
	}
	require.Equal(t, before, pool.Stat().AcquireCount(), "what can't be a token is not looked up")

	made := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	require.False(t, sessions.Known(made))
	for range 3 {
		_, err := sessions.Lookup(t.Context(), made)
		require.ErrorIs(t, err, auth.ErrUnknown)
	}
	require.True(t, sessions.Known(made))
	require.Equal(t, before+1, pool.Stat().AcquireCount(), "an unknown token is remembered as unknown")
}

// Many requests of one session at once ask the database one time.
func TestOneLookupForAllWhoWait(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	_, token, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	sessions := replica(t, pool, auth.Config{})
	before := pool.Stat().AcquireCount()

	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, err := sessions.Lookup(t.Context(), token)
			if err != nil {
				t.Errorf("look up: %v", err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, before+1, pool.Stat().AcquireCount())
}

// A session that was ended on one replica is over there at once, and on every other within 5 s.
func TestEndedElsewhereIsBelievedFiveSecondsAtMost(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	clock := newClock()
	here, there := replica(t, pool, auth.Config{}), replica(t, pool, auth.Config{Now: clock.Now})
	_, token, err := here.Start(t.Context())
	require.NoError(t, err)
	_, err = there.Lookup(t.Context(), token)
	require.NoError(t, err)

	_, err = here.End(t.Context(), token, "bye")
	require.NoError(t, err)
	_, err = here.Lookup(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnknown)

	clock.advance(4999 * time.Millisecond)
	_, err = there.Lookup(t.Context(), token)
	require.NoError(t, err)
	clock.advance(time.Millisecond)
	_, err = there.Lookup(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnknown)
}

func TestEndingIsRepeatedWithItsOwnKeyOnly(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	here, there := replica(t, pool, auth.Config{}), replica(t, pool, auth.Config{})
	started, token, err := here.Start(t.Context())
	require.NoError(t, err)

	for _, r := range []*auth.Sessions{here, here, there} {
		ended, err := r.End(t.Context(), token, "k1")
		require.NoError(t, err)
		require.Equal(t, started, ended)
	}
	_, err = here.End(t.Context(), token, "k2")
	require.ErrorIs(t, err, auth.ErrUnknown)
	_, err = here.End(t.Context(), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "k1")
	require.ErrorIs(t, err, auth.ErrUnknown)
	_, err = here.End(t.Context(), "no token", "k1")
	require.ErrorIs(t, err, auth.ErrUnknown)
}

func TestASessionExpiresUnlessItIsUsed(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	clock := newClock()
	sessions := replica(t, pool, auth.Config{IdleFor: time.Hour, Now: clock.Now})
	session, token, err := sessions.Start(t.Context())
	require.NoError(t, err)

	age := func(by string) {
		_, err := pool.Exec(t.Context(),
			`UPDATE sessions SET seen_at = seen_at - $1::interval, expires_at = expires_at - $1::interval`, by)
		require.NoError(t, err)
		clock.advance(5 * time.Second)
	}
	left := func() (left time.Duration) {
		require.NoError(t, pool.QueryRow(t.Context(),
			`SELECT expires_at - clock_timestamp() FROM sessions WHERE id = $1`, session.ID).Scan(&left))
		return left
	}

	age("59 minutes")
	require.Less(t, left(), 2*time.Minute)
	_, err = sessions.Lookup(t.Context(), token)
	require.NoError(t, err)
	require.Greater(t, left(), 59*time.Minute, "its use was noted")

	age("61 minutes")
	_, err = sessions.Lookup(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnknown)
	_, err = sessions.End(t.Context(), token, "k")
	require.ErrorIs(t, err, auth.ErrUnknown)
}

// While PostgreSQL is gone those who were here go on, for as long as StaleFor says.
func TestKnownSessionsOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	pool := site(t, stack.PostgresURL())
	clock := newClock()
	sessions := replica(t, pool, auth.Config{Now: clock.Now, StaleFor: time.Minute})
	session, token, err := sessions.Start(t.Context())
	require.NoError(t, err)
	_, strangers, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	require.NoError(t, stack.StopPostgres(t.Context()))

	clock.advance(30 * time.Second)
	found, err := sessions.Lookup(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, session, found)
	_, err = sessions.Lookup(t.Context(), strangers)
	require.ErrorIs(t, err, auth.ErrUnavailable)
	_, _, err = sessions.Start(t.Context())
	require.ErrorIs(t, err, auth.ErrUnavailable)
	_, err = sessions.End(t.Context(), token, "k")
	require.ErrorIs(t, err, auth.ErrUnavailable)
	_, err = sessions.AddressKey(t.Context())
	require.ErrorIs(t, err, auth.ErrUnavailable)

	clock.advance(30 * time.Second)
	_, err = sessions.Lookup(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnavailable, "too long ago")

	require.NoError(t, stack.StartPostgres(t.Context()))
	_, err = sessions.Lookup(t.Context(), strangers)
	require.ErrorIs(t, err, auth.ErrUnavailable, "it is left alone for a second after it failed")
	clock.advance(time.Second)
	_, err = sessions.Lookup(t.Context(), strangers)
	require.NoError(t, err)
	_, err = sessions.Lookup(t.Context(), token)
	require.NoError(t, err)
}

// A connection that breaks while the answer is on its way is one customer's bad luck at most, and not even that: the
// database is asked once more, and is not taken for gone.
func TestABrokenLineIsNotALostDatabase(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	_, first, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	_, second, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context())) //nolint:errcheck // only when the test failed before
	_, err = tx.Exec(t.Context(), "LOCK TABLE sessions")
	require.NoError(t, err)

	sessions := replica(t, pool, auth.Config{Now: newClock().Now})
	found := make(chan error, 1)
	go func() {
		_, err := sessions.Lookup(t.Context(), first)
		found <- err
	}()
	var killed bool
	require.Eventually(t, func() bool {
		err := tx.QueryRow(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks
			WHERE relation = 'sessions'::regclass AND NOT granted LIMIT 1`).Scan(&killed)
		return err == nil && killed
	}, time.Minute, time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-found)
	_, err = sessions.Lookup(t.Context(), second)
	require.NoError(t, err, "nor is it left alone")
}

func TestAWaiterWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	_, token, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	sessions := replica(t, pool, auth.Config{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sessions.Lookup(gone, token); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err = sessions.Lookup(t.Context(), token)
	require.NoError(t, err)
}

func TestTheAddressKeyIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	first, err := replica(t, pool, auth.Config{}).AddressKey(t.Context())
	require.NoError(t, err)
	require.Len(t, first, 32)
	second, err := replica(t, pool, auth.Config{}).AddressKey(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second)

	other, err := replica(t, site(t, stacktest.Postgres(t)), auth.Config{}).AddressKey(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, other, "each site has its own")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, auth.Config{}.WithDefaults().Validate())
	for name, cfg := range map[string]auth.Config{
		"cache too long":   {CacheFor: 6 * time.Second},
		"idle too short":   {IdleFor: time.Second},
		"stale below":      {StaleFor: time.Second},
		"no cache":         {MaxCached: -1},
		"no look-ups":      {MaxLookups: -1},
		"negative timeout": {QueryTimeout: -1},
	} {
		require.Error(t, cfg.WithDefaults().Validate(), name)
		_, err := auth.NewSessions(nil, cfg)
		require.Error(t, err, name)
	}
}

// run runs the sessions' housekeeping until the test ends.
func run(t *testing.T, sessions *auth.Sessions, open func() []uuid.UUID, over func(uuid.UUID)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sessions.Run(ctx, open, over) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// Logout on one replica closes the session's sockets on all, and no others.
func TestRunTellsWhichOpenSessionsAreOver(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	sessions := replica(t, pool, auth.Config{RecheckEvery: 5 * time.Millisecond})
	stays, _, err := sessions.Start(t.Context())
	require.NoError(t, err)
	goes, token, err := sessions.Start(t.Context())
	require.NoError(t, err)
	expires, _, err := sessions.Start(t.Context())
	require.NoError(t, err)

	asked, over := make(chan struct{}, 1), make(chan uuid.UUID, 100)
	run(t, sessions, func() []uuid.UUID {
		select {
		case asked <- struct{}{}:
		default:
		}
		return []uuid.UUID{stays.ID, goes.ID, expires.ID}
	}, func(id uuid.UUID) { over <- id })

	<-asked
	<-asked // one whole round has passed
	require.Empty(t, over)
	_, err = replica(t, pool, auth.Config{}).End(t.Context(), token, "k")
	require.NoError(t, err)
	require.Equal(t, goes.ID, <-over)
	_, err = pool.Exec(t.Context(), `UPDATE sessions SET expires_at = clock_timestamp() WHERE id = $1`, expires.ID)
	require.NoError(t, err)
	for id := range over {
		require.NotEqual(t, stays.ID, id)
		if id == expires.ID {
			break
		}
	}
}

// Only the database's own word closes a socket, not its silence.
func TestRunClosesNobodyWhileTheDatabaseIsGone(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	pool := site(t, stack.PostgresURL())
	session, _, err := replica(t, pool, auth.Config{}).Start(t.Context())
	require.NoError(t, err)
	require.NoError(t, stack.StopPostgres(t.Context()))
	sessions := replica(t, pool, auth.Config{RecheckEvery: 5 * time.Millisecond, QueryTimeout: 100 * time.Millisecond})

	asked, over := make(chan struct{}), make(chan uuid.UUID, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- sessions.Run(ctx, func() []uuid.UUID {
			select {
			case asked <- struct{}{}:
			case <-ctx.Done():
			}
			return []uuid.UUID{session.ID}
		}, func(id uuid.UUID) { over <- id })
	}()
	for range 3 {
		<-asked
	}
	cancel()
	require.NoError(t, <-done)
	require.Empty(t, over)
}

func TestOldSessionsAreRemoved(t *testing.T) {
	t.Parallel()
	pool := site(t, stacktest.Postgres(t))
	sessions := replica(t, pool, auth.Config{PurgeEvery: 5 * time.Millisecond})
	fresh, _, err := sessions.Start(t.Context())
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `
		INSERT INTO sessions (id, token_hash, expires_at, ended_at, ended_key)
		SELECT gen_random_uuid(), sha256(n::text::bytea),
		       CASE WHEN n % 2 = 0 THEN clock_timestamp() - interval '1 s' ELSE clock_timestamp() + interval '1 day' END,
		       CASE WHEN n % 2 = 1 THEN clock_timestamp() - interval '25 h' END,
		       CASE WHEN n % 2 = 1 THEN 'k' END
		  FROM generate_series(1, 2500) AS n`)
	require.NoError(t, err)
	run(t, sessions, func() []uuid.UUID { return nil }, func(uuid.UUID) {})

	require.Eventually(t, func() bool {
		var ids []uuid.UUID
		err := pool.QueryRow(t.Context(), `SELECT array_agg(id) FROM sessions`).Scan(&ids)
		return err == nil && len(ids) == 1 && ids[0] == fresh.ID
	}, time.Minute, 20*time.Millisecond)
}
