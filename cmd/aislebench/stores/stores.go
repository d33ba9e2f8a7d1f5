// Package stores runs the PostgreSQL, Redis and etcd that all contestants share, as durable as a sale has to be: fsync
// on, every commit on disk before it is answered. Each contestant gets a database of its own, so that nobody's tables
// or statistics are in another's way.
package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/lock"
)

// stopFor is how long the stores may take to stop.
const stopFor = 20 * time.Second

// Stores are the running stores.
type Stores struct {
	stack *localstack.Stack
	dir   string
	owner *pgx.Conn
	redis redis.UniversalClient
}

// Open starts the stores with their data in a new directory below dir, which PostgreSQL's user must be able to reach.
func Open(ctx context.Context, dir string, logger *slog.Logger) (_ *Stores, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // The stores' user has to pass through.
		return nil, fmt.Errorf("stores: %w", err)
	}
	s := &Stores{}
	if s.dir, err = os.MkdirTemp(dir, "run-"); err != nil {
		return nil, fmt.Errorf("stores: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // See above.
		return nil, fmt.Errorf("stores: %w", err)
	}
	if s.stack, err = localstack.Start(ctx, localstack.Config{Dir: filepath.Join(s.dir, "data"), Logger: logger}); err != nil {
		return nil, err
	}
	if s.owner, err = pgx.Connect(ctx, s.stack.PostgresSocketURL()); err != nil {
		return nil, fmt.Errorf("stores: %w", err)
	}
	var fsync, commit string
	if err := s.owner.QueryRow(ctx, "SELECT current_setting('fsync'), current_setting('synchronous_commit')").Scan(&fsync, &commit); err != nil {
		return nil, fmt.Errorf("stores: %w", err)
	}
	if fsync != "on" || commit != "on" {
		return nil, fmt.Errorf("stores: fsync is %s and synchronous_commit %s: nothing here would be durable", fsync, commit)
	}
	s.redis, err = lock.NewClient(s.stack.RedisURL())
	return s, err
}

// Close stops the stores and removes their data, also when ctx has ended.
func (s *Stores) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer cancel()
	var errs []error
	if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	if s.owner != nil {
		errs = append(errs, s.owner.Close(ctx))
	}
	if s.stack != nil {
		errs = append(errs, s.stack.Stop(ctx))
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// Database makes a new, empty database and returns its owner's URL, over the Unix socket.
func (s *Stores) Database(ctx context.Context, name string) (string, error) {
	quoted := pgx.Identifier{name}.Sanitize()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + quoted + " WITH (FORCE)", "CREATE DATABASE " + quoted} {
		if _, err := s.owner.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("stores: %s: %w", statement, err)
		}
	}
	u, err := url.Parse(s.stack.PostgresSocketURL())
	if err != nil {
		return "", fmt.Errorf("stores: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Settle has PostgreSQL write out now what earlier work left to be written later, so that nobody pays for another's.
func (s *Stores) Settle(ctx context.Context) error {
	if _, err := s.owner.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("stores: %w", err)
	}
	return nil
}

// Redis is a client of the Redis, closed by Close. RedisURL is where it is, and EtcdEndpoints where the etcd is.
func (s *Stores) Redis() redis.UniversalClient { return s.redis }

// RedisURL is the URL of the Redis.
func (s *Stores) RedisURL() string { return s.stack.RedisURL() }

// EtcdEndpoints are the client endpoints of the etcd.
func (s *Stores) EtcdEndpoints() []string { return s.stack.EtcdEndpoints() }

// Versions says in one line which PostgreSQL and Redis these are, and how durable.
func (s *Stores) Versions(ctx context.Context) (string, error) {
	var postgres string
	err := s.owner.QueryRow(ctx, `SELECT format('PostgreSQL %s (fsync %s, synchronous_commit %s, shared_buffers %s)',
		current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'), current_setting('shared_buffers'))`).Scan(&postgres)
	if err != nil {
		return "", fmt.Errorf("stores: %w", err)
	}
	info, err := s.redis.Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("stores: %w", err)
	}
	_, version, _ := strings.Cut(info, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	return postgres + ", Redis " + version, nil
}
