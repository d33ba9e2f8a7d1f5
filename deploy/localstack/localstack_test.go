package localstack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

// childDir is the variable that turns this test program into one that runs a stack in that directory until its
// standard input ends: something to kill.
const childDir = "AISLE_LOCALSTACK_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(runChild(dir))
	}
	os.Exit(stacktest.Main(m, 0))
}

func runChild(dir string) int {
	s, err := localstack.Start(context.Background(), localstack.Config{Dir: dir, Volatile: true})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, s.PostgresURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	return 0
}

// child starts this program as a stack's owner in a process of its own and returns its first line.
func child(t *testing.T, dir string, change func(*exec.Cmd)) (cmd *exec.Cmd, stdin io.Closer, line string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	if change != nil {
		change(cmd)
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var first bytes.Buffer
	for b := make([]byte, 1); ; {
		n, err := out.Read(b)
		if n == 0 || err != nil || b[0] == '\n' {
			return cmd, in, first.String()
		}
		first.Write(b)
	}
}

func start(t *testing.T, cfg localstack.Config) *localstack.Stack {
	t.Helper()
	s, err := localstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) })
	return s
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func count(t *testing.T, url string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM sales").Scan(&n))
	require.NoError(t, conn.Close(t.Context()))
	return n
}

func TestASaleSurvivesARestartOnTheSamePorts(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: filepath.Join(stacktest.Dir(t), "deep", "data")}
	first, err := localstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	execute(t, first.PostgresURL(), "CREATE TABLE sales (seat text)")
	execute(t, first.PostgresSocketURL(), "INSERT INTO sales VALUES ('F7')")
	urls := []string{first.PostgresURL(), first.RedisURL(), first.EtcdEndpoints()[0]}
	require.NoError(t, first.Stop(t.Context()))

	again := start(t, cfg)
	assert.Equal(t, 1, count(t, again.PostgresURL()))
	assert.Equal(t, urls[0], again.PostgresURL())
	assert.Equal(t, urls[1], again.RedisURL())
	assert.Equal(t, urls[2], again.EtcdEndpoints()[0])
}

func TestPostgresIsDurableUnlessVolatile(t *testing.T) {
	t.Parallel()
	for want, volatile := range map[string]bool{"on": false, "off": true} {
		s := start(t, localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Postgres, Volatile: volatile})
		conn, err := pgx.Connect(t.Context(), s.PostgresURL())
		require.NoError(t, err)
		var fsync string
		require.NoError(t, conn.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync))
		require.NoError(t, conn.Close(t.Context()))
		assert.Equal(t, want, fsync)
	}
}

func TestPostgresAsksForThePassword(t *testing.T) {
	t.Parallel()
	s := stacktest.Own(t, localstack.Postgres)
	_, password, _ := strings.Cut(strings.TrimPrefix(s.PostgresURL(), "postgres://"), ":")
	password, _, _ = strings.Cut(password, "@")
	_, err := pgx.Connect(t.Context(), strings.Replace(s.PostgresURL(), password, "guess", 1))
	require.ErrorContains(t, err, "password authentication failed")
}

func TestKilledPostmasterComesBackWithWhatWasCommitted(t *testing.T) {
	t.Parallel()
	s := stacktest.Own(t, localstack.Postgres)
	url := s.PostgresURL()
	execute(t, url, "CREATE TABLE sales AS SELECT 'F7' AS seat")
	require.NoError(t, s.KillPostgres())
	_, err := pgx.Connect(t.Context(), url)
	require.Error(t, err)
	require.NoError(t, s.StartPostgres(t.Context()))
	assert.Equal(t, 1, count(t, url))
}

func TestRedisAndEtcdComeBackOnTheSamePort(t *testing.T) {
	t.Parallel()
	s := stacktest.Own(t, localstack.Redis|localstack.Etcd)
	options, err := redis.ParseURL(s.RedisURL())
	require.NoError(t, err)
	cache := redis.NewClient(options)
	t.Cleanup(func() { assert.NoError(t, cache.Close()) })
	keys, err := clientv3.New(clientv3.Config{Endpoints: s.EtcdEndpoints()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, keys.Close()) })
	require.NoError(t, cache.Set(t.Context(), "k", "v", 0).Err())
	_, err = keys.Put(t.Context(), "k", "v")
	require.NoError(t, err)

	require.NoError(t, s.StopEtcd(t.Context()))
	require.NoError(t, s.KillRedis())
	require.NoError(t, s.StartRedis(t.Context()))
	require.NoError(t, s.StartEtcd(t.Context()))

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, int64(0), cache.DBSize(t.Context()).Val(), "Redis keeps nothing")
		assert.NoError(c, cache.Ping(t.Context()).Err())
	}, 10*time.Second, 50*time.Millisecond)
	got, err := keys.Get(t.Context(), "k")
	require.NoError(t, err)
	assert.Len(t, got.Kvs, 1, "etcd keeps its data")
}

func TestWatchStartsADeadStoreAgain(t *testing.T) {
	t.Parallel()
	s := stacktest.Own(t, localstack.Postgres)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Watch(ctx) }()
	execute(t, s.PostgresURL(), "CREATE TABLE sales AS SELECT 'F7' AS seat")
	require.NoError(t, syscall.Kill(localstack.PostgresPID(s), syscall.SIGKILL))
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), s.PostgresURL())
		return err == nil && conn.Close(t.Context()) == nil
	}, 30*time.Second, 50*time.Millisecond)
	assert.Equal(t, 1, count(t, s.PostgresURL()))
	cancel()
	<-done
}

func TestTwoStacksCanNotShareADirectory(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Redis}
	start(t, cfg)
	_, err := localstack.Start(t.Context(), cfg)
	var busy *localstack.BusyError
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, os.Getpid(), busy.PID)
}

func TestAPortThatSomeoneTookIsReplaced(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Redis}
	first, err := localstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	before := first.RedisURL()
	require.NoError(t, first.Stop(t.Context()))
	var lc net.ListenConfig
	squatter, err := lc.Listen(t.Context(), "tcp4", strings.TrimSuffix(strings.TrimPrefix(before, "redis://"), "/0"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, squatter.Close()) })

	again := start(t, cfg)
	assert.NotEqual(t, before, again.RedisURL())
	b, err := os.ReadFile(filepath.Join(cfg.Dir, "ports.json"))
	require.NoError(t, err)
	var remembered map[string]int
	require.NoError(t, json.Unmarshal(b, &remembered))
	assert.Contains(t, again.RedisURL(), ":"+strconv.Itoa(remembered["redis"])+"/")
}
