package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// grant is what the application's role may do with one table. Nothing else is granted; above all nobody but
// the log's functions, which run as the tables' owner, writes events, heads, commands or bookings.
type grant struct{ table, privileges string }

// grants is the whole list.
func grants() []grant {
	const (
		read  = "SELECT"
		write = "SELECT, INSERT, UPDATE, DELETE"
		add   = "SELECT, INSERT"
	)
	return []grant{
		// The log.
		{"goose_db_version", read},
		{"log", read},
		{"streams", read},
		{"events", read},
		{"commands", read},
		{"bookings", read},
		{"cursors", write},
		// The catalogue.
		{"cinemas", add},
		{"auditoriums", add},
		{"categories", add},
		{"layouts", add},
		{"layout_seats", add},
		{"films", add},
		{"showings", add + ", UPDATE (starts_at, opens_at, closes_at, cancelled)"},
		{"prices", add},
		// Sessions.
		{"sessions", write},
		{"site_keys", read},
	}
}

// grantTo gives the role what it needs, and takes what it had beyond that.
func grantTo(ctx context.Context, tx pgx.Tx, schema, role string) error {
	in, to := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	statements := []string{
		"REVOKE ALL ON ALL TABLES IN SCHEMA " + in + " FROM " + to,
		"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA " + in + " FROM " + to,
		"GRANT USAGE ON SCHEMA " + in + " TO " + to,
	}
	for _, g := range grants() {
		table := pgx.Identifier{schema, g.table}.Sanitize()
		statements = append(statements, "GRANT "+g.privileges+" ON "+table+" TO "+to)
	}
	for _, name := range functionNames() {
		function := pgx.Identifier{schema, name}.Sanitize()
		statements = append(statements, "GRANT EXECUTE ON FUNCTION "+function+" TO "+to)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// isUndefined says whether the error is about a table or schema that isn't there.
func isUndefined(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pgErr.Code == "42P01" || pgErr.Code == "3F000")
}
