package eventstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// MigrationReport says what Migrate did.
type MigrationReport struct {
	// Schema is where the tables live.
	Schema string
	// From and To are the versions before and after.
	From, To int64
	// Applied are the migrations that were missing, in order.
	Applied []AppliedMigration
	// Functions are the database functions that were new or had changed.
	Functions []string
	// Role got the grants it needs; empty when none was named.
	Role string
}

// AppliedMigration is one migration that Migrate applied.
type AppliedMigration struct {
	Version int64
	Name    string
	Took    time.Duration
}

// String tells an operator, in a few lines, what was done.
func (r MigrationReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "schema %q: version %d", r.Schema, r.To)
	if r.From != r.To {
		fmt.Fprintf(&b, ", was %d", r.From)
	}
	for _, m := range r.Applied {
		fmt.Fprintf(&b, "\napplied %s in %s", m.Name, m.Took.Round(time.Millisecond))
	}
	if len(r.Functions) > 0 {
		fmt.Fprintf(&b, "\nreplaced functions: %s", strings.Join(r.Functions, ", "))
	}
	if r.Role != "" {
		fmt.Fprintf(&b, "\ngranted %q what it needs", r.Role)
	}
	return b.String()
}

// Migrate brings the database to this program's version: missing migrations, changed functions, and,
// unless appRole is empty, exactly the grants that this existing role needs. Everything goes into the first schema of
// the URL's search_path. ownerURL's role must own that schema's tables, or be able to make them. Several
// processes may call it at once: one works, the others wait and find nothing left to do.
func Migrate(ctx context.Context, ownerURL, appRole string) (MigrationReport, error) {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return MigrationReport{}, errURL
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return MigrationReport{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	// Closing the connection is also what gives the lock back.
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	report := MigrationReport{Role: appRole}
	if report.Schema, err = lockSchema(ctx, conn); err != nil {
		return report, err
	}
	if err := applyMigrations(ctx, config, &report); err != nil {
		return report, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := replaceFunctions(ctx, tx, &report); err != nil {
			return err
		}
		if appRole == "" {
			return nil
		}
		return grantTo(ctx, tx, report.Schema, appRole)
	})
	if err != nil {
		return report, fmt.Errorf("eventstore: migrate: %w", err)
	}
	return report, nil
}

// lockSchema waits until no other process migrates the schema, for as long as the connection lives.
func lockSchema(ctx context.Context, conn *pgx.Conn) (string, error) {
	var schema *string
	if err := conn.QueryRow(ctx, lockSchemaSQL).Scan(&schema); err != nil {
		return "", fmt.Errorf("eventstore: migration lock: %w", err)
	}
	if schema == nil {
		return "", errors.New("eventstore: search_path names no schema that exists")
	}
	return *schema, nil
}

func applyMigrations(ctx context.Context, config *pgx.ConnConfig, report *MigrationReport) error {
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	if report.From, err = provider.GetDBVersion(ctx); err != nil {
		return fmt.Errorf("eventstore: schema version: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("eventstore: migrate: %w", err)
	}
	report.To = report.From
	for _, r := range results {
		report.Applied = append(report.Applied, AppliedMigration{
			Version: r.Source.Version, Name: path.Base(r.Source.Path), Took: r.Duration,
		})
		report.To = r.Source.Version
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(Migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("eventstore: migrations: %w", err)
	}
	// Migrate holds a lock of its own around goose, the functions and the grants, so goose needs none.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("eventstore: migrations: %w", err)
	}
	return provider, nil
}

// replaceFunctions puts in place the functions whose text has changed. Each remembers the hash of its text
// in its comment, which dumps carry along.
func replaceFunctions(ctx context.Context, tx pgx.Tx, report *MigrationReport) error {
	// A function keeps the search path it is made under. Named last, nobody's temporary table can pose
	// as one of the log's.
	quoted := pgx.Identifier{report.Schema}.Sanitize()
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = "+quoted+", pg_temp"); err != nil {
		return fmt.Errorf("search path: %w", err)
	}
	for _, name := range functionNames() {
		text, err := functions.ReadFile("functions/" + name + ".sql")
		if err != nil {
			return fmt.Errorf("function %s: %w", name, err)
		}
		replaced, err := replaceFunction(ctx, tx, report.Schema, name, string(text))
		if err != nil {
			return fmt.Errorf("function %s: %w", name, err)
		}
		if replaced {
			report.Functions = append(report.Functions, name)
		}
	}
	return nil
}

func replaceFunction(ctx context.Context, tx pgx.Tx, schema, name, text string) (bool, error) {
	sum := sha256.Sum256([]byte(schema + "\n" + text))
	hash := "sha256:" + hex.EncodeToString(sum[:])
	var present string
	if err := tx.QueryRow(ctx, functionHashSQL, name).Scan(&present); err != nil {
		return false, err
	}
	if present == hash {
		return false, nil
	}
	quoted := pgx.Identifier{name}.Sanitize()
	for _, statement := range []string{
		text,
		"COMMENT ON FUNCTION " + quoted + " IS '" + hash + "'",
		"REVOKE ALL ON FUNCTION " + quoted + " FROM PUBLIC",
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return false, err
		}
	}
	return true, nil
}

// functionNames are the names of the log's functions, which are also their files'.
func functionNames() []string {
	names, _ := fs.Glob(functions, "functions/*.sql") // fails for a bad pattern only
	for i, name := range names {
		names[i] = strings.TrimSuffix(path.Base(name), ".sql")
	}
	return names
}

// latestVersion is the version of the last migration that this program has.
func latestVersion() (int64, error) {
	var latest int64
	names, _ := fs.Glob(Migrations, "migrations/*.sql") // fails for a bad pattern only
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("eventstore: %s: %w", name, err)
		}
		latest = max(latest, version)
	}
	return latest, nil
}

// checkSchema compares the database's version with this program's. A newer database is fine: a migration
// only ever adds, so that replicas of two versions work side by side during an upgrade.
func (s *Store) checkSchema(ctx context.Context) error {
	want, err := latestVersion()
	if err != nil {
		return err
	}
	var have int64
	if err := s.pool.QueryRow(ctx, schemaVersionSQL).Scan(&have); err != nil {
		err = readError(ctx, "schema version", err)
		if isUndefined(err) {
			return fmt.Errorf("%w: it has no tables; run the migrations", ErrSchema)
		}
		return err
	}
	if have < want {
		return fmt.Errorf("%w: version %d, needs %d; run the migrations", ErrSchema, have, want)
	}
	return nil
}
