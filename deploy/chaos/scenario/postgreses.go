package scenario

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

func postgreses() []Scenario {
	return []Scenario{
		{Name: "postgres-killed", What: "kill -9 of PostgreSQL; it is gone for 5 s and recovers", Row: "PostgreSQL", Break: killPostgres},
		{Name: "postgres-restarted", What: "PostgreSQL is restarted twice", Break: restartPostgres},
		{Name: "commit-cut", What: "connections are cut while the answer of a commit is on its way back, 60 times, on all replicas", Short: true, Break: cutCommits},
		{
			Name: "transaction-open", What: "a transaction that has written stays open for 60 s, here and in another database of the server",
			Break: openTransactions,
		},
		{Name: "commits-slow", What: "one commit in ten takes 200 ms, so that later ones overtake it", Break: slowCommits},
		{
			Name: "pool-small", What: "a pool of three connections, the fewest that are allowed, and 60 buyers who need one each",
			Set:     func(c *fleet.Config) { c.Flags = append(c.Flags, "--postgres-pool=3") },
			Clients: func(c *Config) { c.Buyers = 60 },
			Break:   func(ctx context.Context, r *Run) error { return r.Wait(ctx, 5*time.Second) },
		},
	}
}

func killPostgres(ctx context.Context, r *Run) error {
	if err := r.Fleet.KillPostgres(); err != nil {
		return err
	}
	if err := r.Wait(ctx, 5*time.Second); err != nil {
		return err
	}
	r.shows(ctx, true)
	r.refuses(ctx)
	return r.Fleet.StartPostgres(ctx)
}

func restartPostgres(ctx context.Context, r *Run) error {
	for range 2 {
		if err := r.Fleet.RestartPostgres(ctx); err != nil {
			return err
		}
		if err := r.Wait(ctx, r.Between(time.Second, 2*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

func cutCommits(ctx context.Context, r *Run) error { return r.cutReplies(ctx, fleet.Postgres) }

// openTransactions holds back what a reader that looks at transaction numbers would wait for.
func openTransactions(ctx context.Context, r *Run) error {
	here, err := pgx.Connect(ctx, r.Fleet.Postgres())
	if err != nil {
		return err
	}
	defer here.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its transaction is given up
	if _, err := here.Exec(ctx, "CREATE DATABASE elsewhere"); err != nil {
		return err
	}
	cfg, err := pgx.ParseConfig(r.Fleet.Postgres())
	if err != nil {
		return err
	}
	cfg.Database = "elsewhere"
	there, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer there.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its transaction is given up
	for _, conn := range []*pgx.Conn{here, there} {
		if _, err := conn.Exec(ctx, "BEGIN; CREATE TABLE left_open (id integer); INSERT INTO left_open VALUES (1)"); err != nil {
			return err
		}
	}
	if err := r.Wait(ctx, 55*time.Second); err != nil {
		return err
	}
	r.sees(ctx) // while both are open still: nobody may wait for them
	return r.Wait(ctx, 5*time.Second)
}

// slowCommits makes commits wait after their events have been written and numbered.
func slowCommits(ctx context.Context, r *Run) error {
	conn, err := pgx.Connect(ctx, r.Fleet.Postgres())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // autocommit
	if _, err := conn.Exec(ctx, `
		CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN IF random() < 0.1 THEN PERFORM pg_sleep(0.2); END IF; RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER take_time AFTER UPDATE ON streams
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION take_time()`); err != nil {
		return err
	}
	if err := r.Wait(ctx, 6*time.Second); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "DROP TRIGGER take_time ON streams; DROP FUNCTION take_time()")
	return err
}
