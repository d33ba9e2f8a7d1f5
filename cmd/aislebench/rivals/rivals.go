// Package rivals has the other ways to sell seats that a cinema would use instead, each as well made as we can:
// prepared statements, as few round trips as the design allows, rows that can be updated in place, and the number of
// connections that was best for it. All mean the same:
//
//   - Hold takes all the seats for a session until a deadline, by the database's clock, or none: ErrTaken.
//   - A hold past its deadline is free to the next buyer.
//   - Confirm sells exactly the hold's seats.
//   - What was answered is on disk.
//
// None of them has what Aisle has beside that: idempotent commands, a log of what happened, a live map.
package rivals

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

// HoldFor is how long a hold lasts.
const HoldFor = 10 * time.Minute

// Pool is how many connections to PostgreSQL a rival has: what was best for them.
const Pool = 16

// Sentinels of the contestants.
var (
	// ErrTaken: someone else has one of the seats; nothing was taken.
	ErrTaken = errors.New("rivals: a seat is taken")
	// ErrNotHeld: there is no such hold any more; nothing was sold.
	ErrNotHeld = errors.New("rivals: no such hold")
)

// House is what is on sale: the same seats at each showing.
type House struct {
	Showings []uuid.UUID
	Seats    []string
}

// Booker sells seats. It is safe for concurrent use.
type Booker interface {
	// Prepare puts a house on sale, beside those that were before.
	Prepare(ctx context.Context, h House) error
	// Hold takes the seats, which are in the house's order, or none of them: ErrTaken.
	Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (booking uuid.UUID, err error)
	// Confirm sells a hold's seats: ErrNotHeld.
	Confirm(ctx context.Context, session, booking uuid.UUID) error
	// Close frees what it has open.
	Close()
}

//go:embed sql/*.sql
var sql embed.FS

func query(name string) string {
	text, err := sql.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// store is what all rivals have: a database with the same tables.
type store struct {
	pool *pgxpool.Pool
}

// open connects, and makes the tables where they are missing, and with them what further files say.
func open(ctx context.Context, url string, further ...string) (*store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("rivals: %w", err)
	}
	cfg.MaxConns, cfg.MinConns = Pool, Pool
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("rivals: %w", err)
	}
	for _, name := range append([]string{"schema"}, further...) {
		if _, err := pool.Exec(ctx, query(name)); err != nil {
			pool.Close()
			return nil, fmt.Errorf("rivals: %s: %w", name, err)
		}
	}
	return &store{pool: pool}, nil
}

// Prepare is Booker's.
func (s *store) Prepare(ctx context.Context, h House) error {
	if _, err := s.pool.Exec(ctx, query("prepare"), h.Showings, h.Seats); err != nil {
		return fmt.Errorf("rivals: %w", err)
	}
	_, err := s.pool.Exec(ctx, "VACUUM ANALYZE seats")
	return err
}

// Close is Booker's.
func (s *store) Close() { s.pool.Close() }

// inTx runs do in a transaction on a connection of its own. do itself begins the transaction, together with its first
// statement, and ends it together with its last: that saves two round trips. When it fails, the transaction is undone.
func (s *store) inTx(ctx context.Context, do func(conn *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = do(conn.Conn())
	if err != nil && conn.Conn().PgConn().TxStatus() != 'I' {
		_, undo := conn.Exec(ctx, "rollback")
		err = errors.Join(err, undo)
	}
	return err
}

// makeBooker makes a rival in an empty database.
type makeBooker func(ctx context.Context, url string, client redis.UniversalClient) (Booker, error)

// Design is one rival.
type Design struct {
	// Name is for tables, Key for command lines and databases.
	Name, Key string
	// Open makes it in a database of its own, which may have been opened before; Redis is only used by those that lock in it.
	Open makeBooker
}

// All are the rivals, in the order of the tables.
func All() []Design {
	return []Design{
		{Name: "SELECT … FOR UPDATE", Key: "forupdate", Open: newForUpdate},
		{Name: "UPDATE … WHERE version", Key: "version", Open: newVersion},
		{Name: "redsync + transaction", Key: "redsync", Open: newRedsync},
		{Name: "redislock + transaction", Key: "redislock", Open: newRedislock},
		{Name: "plpgsql, one call a step", Key: "plpgsql", Open: newProcedure},
	}
}

// conflict says whether PostgreSQL ended a transaction for the sake of another one: the loser is told so.
func conflict(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failure.Code == "40P01" || failure.Code == "40001")
}
