package scenario

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// noticed is when each replica has found out that the log was restored: it compares with the log once a second, and a map
// may lag by two. Until then it refuses what someone had in the history that is lost, which the judge can't see any more.
const noticed = 3 * time.Second

func restores() []Scenario {
	return []Scenario{{
		Name: "dump-restored", What: "a dump is restored under running replicas whose cursors, snapshots and watchers are ahead of it",
		Break: restore,
	}}
}

// restore sells, dumps, sells on, and goes back to the dump. What was sold between is lost with the old database, so
// it is kept out of the record: no more and no less than that may be missing.
func restore(ctx context.Context, r *Run) error {
	if err := r.StopBuyers(ctx); err != nil {
		return err
	}
	file, err := dump(ctx, r.Fleet.Postgres(), r.Config.Dir)
	if err != nil {
		return err
	}
	kept := r.History
	r.History = &history.Recorder{}
	if err := r.StartBuyers(ctx); err != nil {
		return err
	}
	if err := r.Wait(ctx, r.Config.Before); err != nil {
		return err
	}
	if err := r.StopBuyers(ctx); err != nil {
		return err
	}
	r.Say("lost on purpose: %d operations", len(r.History.Ops()))
	r.History = kept
	r.Forgotten()
	if err := undump(ctx, r.Fleet.Postgres(), file); err != nil {
		return err
	}
	r.Forgotten()
	r.lostUntil = time.Now().Add(noticed)
	return r.StartBuyers(ctx)
}

// dump is what an operator's backup does.
func dump(ctx context.Context, url, dir string) (file string, err error) {
	file = filepath.Join(dir, "aisle.dump")
	return file, tool(exec.CommandContext(ctx, "pg_dump", "--format=custom", "--file="+file, "--dbname="+url)) //nolint:gosec // our own URL
}

// undump is what an operator does who has lost the database, and has not stopped the servers.
func undump(ctx context.Context, url, file string) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	name := pgx.Identifier{cfg.Database}.Sanitize()
	cfg.Database = "postgres"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // autocommit
	for _, sql := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "CREATE DATABASE " + name} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return tool(exec.CommandContext(ctx, "pg_restore", "--exit-on-error", "--dbname="+url, file)) //nolint:gosec // the same
}

func tool(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
