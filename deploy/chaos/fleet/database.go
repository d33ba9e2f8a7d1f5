package fleet

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// appRole is what the replicas are to the database.
const appRole = "aisle_app"

// prepareDatabase makes the replicas' role, brings the database to the program's version, and makes the cinema. It
// returns the role's new password.
func (f *Fleet) prepareDatabase(ctx context.Context) (password string, err error) {
	if password, err = f.makeRole(ctx); err != nil {
		return "", fmt.Errorf("fleet: the replicas' role: %w", err)
	}
	owner := []string{"AISLE_POSTGRES_URL=" + f.Postgres()}
	if err := output(ctx, owner, f.cfg.Binary, "migrate", "--app-role", appRole); err != nil {
		return "", fmt.Errorf("fleet: %w", err)
	}
	if f.cfg.Showings == 0 {
		return password, nil
	}
	err = output(ctx, owner, f.cfg.Binary, "demo",
		"--showings", strconv.Itoa(f.cfg.Showings),
		"--rows", strconv.Itoa(f.cfg.Rows), "--seats-per-row", strconv.Itoa(f.cfg.SeatsPerRow))
	if err != nil {
		return "", fmt.Errorf("fleet: %w", err)
	}
	return password, nil
}

func (f *Fleet) makeRole(ctx context.Context) (password string, err error) {
	conn, err := pgx.Connect(ctx, f.Postgres())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", appRole).Scan(&exists); err != nil {
		return "", err
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	password = rand.Text() // letters and digits: nothing to quote
	_, err = conn.Exec(ctx, fmt.Sprintf("%s ROLE %s LOGIN PASSWORD '%s'", verb, appRole, password))
	return password, err
}

// appURL is the replicas' URL of the database at an address.
func (f *Fleet) appURL(address, password string) (string, error) {
	u, err := url.Parse(f.Postgres())
	if err != nil {
		return "", fmt.Errorf("fleet: the replicas' URL of PostgreSQL: %w", err)
	}
	u.User, u.Host = url.UserPassword(appRole, password), address
	return u.String(), nil
}
