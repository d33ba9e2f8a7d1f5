package localstack_test

import (
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestAHalfMadeDataDirectoryIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	half := filepath.Join(dir, "postgres.new")
	require.NoError(t, os.MkdirAll(filepath.Join(half, "base"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600))
	s := start(t, localstack.Config{Dir: dir, Services: localstack.Postgres, Volatile: true})
	execute(t, s.PostgresURL(), "SELECT 1")
	assert.NoDirExists(t, half)
}

// The password that a cut of the power emptied is none: new data get a new one, and what can't be opened any more
// is said at once.
func TestAnEmptyPasswordFileIsNoPassword(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Postgres, Volatile: true}
	password := filepath.Join(cfg.Dir, "password")
	require.NoError(t, os.WriteFile(password, nil, 0o600))
	s := start(t, cfg)
	execute(t, s.PostgresURL(), "SELECT 1")
	require.NoError(t, s.Stop(t.Context()))

	require.NoError(t, os.WriteFile(password, nil, 0o600))
	_, err := localstack.Start(t.Context(), cfg)
	require.ErrorContains(t, err, password+" is gone or empty, but the data are there")
}

func TestAStackKilledWithKill9StartsAgainAtOnce(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	owner, _, url := child(t, dir, nil)
	execute(t, url, "CREATE TABLE sales AS SELECT 'F7' AS seat")
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	s := start(t, localstack.Config{Dir: dir, Volatile: true})
	assert.Equal(t, 1, count(t, s.PostgresURL()))
}

func TestStoresLeftByAKilledOwnerAreEndedAndStrangersAreNot(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Postgres | localstack.Redis, Volatile: true}
	left, err := localstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	execute(t, left.PostgresURL(), "CREATE TABLE sales AS SELECT 'F7' AS seat")
	pid := localstack.PostgresPID(left)
	// It names our directory in its arguments, but is no store.
	stranger, end, err := localstack.RunAsStore("/usr/bin/tail", []string{"-f", "/dev/null", filepath.Join(cfg.Dir, "postgres")}, stacktest.Dir(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, end()) })

	require.NoError(t, localstack.Abandon(left))
	s := start(t, cfg)
	assert.Equal(t, 1, count(t, s.PostgresURL()))
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	require.NoError(t, syscall.Kill(stranger, 0))
	require.NoError(t, left.Stop(t.Context()), "nothing of it is left to stop")
}

// A container that restarts gives out the same small process numbers again: PostgreSQL takes any process of its
// own user under the number in postmaster.pid for a postmaster.
func TestAPIDFileThatNamesAStrangerDoesNotHinder(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Postgres, Volatile: true}
	first, err := localstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))
	stranger, end, err := localstack.RunAsStore("/usr/bin/tail", []string{"-f", "/dev/null"}, stacktest.Dir(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, end()) })
	pidFile := filepath.Join(cfg.Dir, "postgres", "postmaster.pid")
	require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(stranger)+"\n"), 0o644))

	s := start(t, cfg)
	execute(t, s.PostgresURL(), "SELECT 1")
	require.NoError(t, syscall.Kill(stranger, 0))
}

func TestEtcdDoesNotMindWhatACrashDidToItsFiles(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config{Dir: stacktest.Dir(t), Services: localstack.Etcd}
	first, err := localstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))
	logs, err := filepath.Glob(filepath.Join(cfg.Dir, "etcd", "member", "wal", "*.wal"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	for _, l := range logs {
		require.NoError(t, os.WriteFile(l, []byte("not a log"), 0o600))
	}
	start(t, cfg)
}

func TestRunsAsAPlainUser(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	data := filepath.Join(dir, "data")
	owner, stdin, url := child(t, data, func(cmd *exec.Cmd) { asPlainUser(t, cmd, dir) })
	execute(t, url, "CREATE TABLE sales AS SELECT 'F7' AS seat")
	require.NoError(t, stdin.Close())
	require.NoError(t, owner.Wait())
}

// asPlainUser makes cmd run a copy of its program as a user that is not root, where we are root.
func asPlainUser(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	u, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	require.NoError(t, os.Chown(dir, int(uid), int(gid)))
	from, err := os.Open(cmd.Path)
	require.NoError(t, err)
	defer func() { _ = from.Close() }()
	copied := filepath.Join(dir, "program")
	to, err := os.OpenFile(copied, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	cmd.Path = copied
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func TestAMissingProgramNamesItsPackage(t *testing.T) {
	t.Parallel()
	owner, _, line := child(t, stacktest.Dir(t), func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "PATH=/nowhere") })
	require.Error(t, owner.Wait())
	assert.Equal(t, "redis-server is not installed: apt-get install redis-server", line)
}

func TestADirectoryThatPostgresCanNotReachIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(stacktest.Dir(t), "closed")
	require.NoError(t, os.Mkdir(closed, 0o700))
	s, err := localstack.Start(t.Context(), localstack.Config{Dir: filepath.Join(closed, "data"), Services: localstack.Postgres})
	if os.Geteuid() != 0 { // the directory is our own then, and PostgreSQL runs as we do
		require.NoError(t, err)
		require.NoError(t, s.Stop(t.Context()))
		return
	}
	require.ErrorContains(t, err, closed+" is closed to it")
	assert.NotContains(t, err.Error(), "\n")
}
