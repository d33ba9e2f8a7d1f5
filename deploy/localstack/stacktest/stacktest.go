// Package stacktest gives tests the real stores. One stack is shared by all tests of a process, in a directory
// of its own, and each test gets its own corner of it: a schema or a database in PostgreSQL, a key prefix in Redis
// and etcd. A test that kills stores takes a stack of its own.
//
//	func TestMain(m *testing.M) { os.Exit(stacktest.Main(m, localstack.Postgres|localstack.Redis)) }
//
// A store that is missing fails the test with the line that says what to install; nothing is skipped.
package stacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/aislehq/aisle/deploy/localstack"
)

// stopTimeout bounds the stop of a stack at a test's end.
const stopTimeout = 20 * time.Second

// shared is the stack that the tests of this process share. It starts when the first test asks.
type shared struct {
	need  localstack.Services
	start sync.Once
	dir   string
	stack *localstack.Stack
	admin *pgxpool.Pool // nil without PostgreSQL
	err   error
}

//nolint:gochecknoglobals // A test process has one, and testing.M has no place for it.
var process shared

// Main runs the tests of a package that need these stores, stops the stores, and looks for goroutines that
// were left running. It returns the exit code.
func Main(m *testing.M, need localstack.Services) int {
	process.need = need
	code := m.Run()
	if err := process.close(); err != nil {
		fmt.Fprintln(os.Stderr, "stacktest:", err)
		code = max(code, 1)
	}
	if code != 0 {
		return code // what leaked in a failed run is no news
	}
	if err := goleak.Find(Leaks()...); err != nil {
		fmt.Fprintln(os.Stderr, "stacktest: goroutines were left running:", err)
		return 1
	}
	return 0
}

// Leaks are the goroutines of libraries that outlive their owner and may be ignored.
func Leaks() []goleak.Option {
	return []goleak.Option{
		// The embedded etcd imports a logger that rotates files from a goroutine which never ends.
		goleak.IgnoreTopFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"),
	}
}

func (s *shared) get(t testing.TB, need localstack.Services) *localstack.Stack {
	t.Helper()
	if !s.need.Has(need) {
		t.Fatalf("stacktest: call stacktest.Main with the services that the tests use (%b of %b are missing)", need&^s.need, need)
	}
	s.start.Do(s.open)
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.stack
}

func (s *shared) open() {
	ctx := context.Background()
	if s.dir, s.err = makeDir(); s.err != nil {
		return
	}
	s.stack, s.err = localstack.Start(ctx, localstack.Config{Dir: s.dir, Services: s.need, Volatile: true})
	if s.err != nil || !s.need.Has(localstack.Postgres) {
		return
	}
	s.admin, s.err = pgxpool.New(ctx, s.stack.PostgresURL())
}

func (s *shared) close() error {
	if s.admin != nil {
		s.admin.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var err error
	if s.stack != nil {
		err = s.stack.Stop(ctx)
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// Own is a stack of the test's own, for killing things. It is stopped at the test's end.
func Own(t testing.TB, need localstack.Services) *localstack.Stack {
	t.Helper()
	stack, err := localstack.Start(t.Context(), localstack.Config{Dir: Dir(t), Services: need, Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, stack.Stop) })
	return stack
}

// Sentinel is a Redis under Sentinel of the test's own. It is stopped at the test's end.
func Sentinel(t testing.TB) *localstack.Sentinel {
	t.Helper()
	s, err := localstack.StartSentinel(t.Context(), Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s.Stop) })
	return s
}

// Cluster is a Redis Cluster of the test's own. It is stopped at the test's end.
func Cluster(t testing.TB) *localstack.Cluster {
	t.Helper()
	c, err := localstack.StartCluster(t.Context(), Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c.Stop) })
	return c
}

func stop(t testing.TB, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stopTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Error(err)
	}
}
