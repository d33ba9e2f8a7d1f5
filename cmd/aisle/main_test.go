package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

// program is the built binary: these tests run it as an operator does.
var program string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aisle-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "aisle")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return stacktest.Main(m, localstack.Postgres)
}

// finish runs the program to its end.
func finish(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	require.NoError(t, err)
	return out.String(), errs.String(), 0
}

// environment is ours without the settings that someone may have set for a server of their own.
func environment() []string {
	var kept []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "AISLE_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// running is a program under way.
type running struct {
	cmd    *exec.Cmd
	lines  chan string // of its standard output; closed at its end
	stderr *bytes.Buffer
	ended  chan error
}

// launch starts the program; the test kills it at its end if it is still there.
func launch(t *testing.T, args ...string) *running {
	t.Helper()
	return launchWith(t, nil, args...)
}

// launchWith is launch with settings in the environment.
func launchWith(t *testing.T, settings []string, args ...string) *running {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(environment(), settings...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	r := &running{cmd: cmd, lines: make(chan string, 100), stderr: &bytes.Buffer{}, ended: make(chan error, 1)}
	cmd.Stderr = r.stderr
	require.NoError(t, cmd.Start())
	go r.read(out)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range r.lines { // until the pipe's last writer is gone
			continue
		}
		if t.Failed() {
			t.Log(r.stderr.String())
		}
	})
	return r
}

func (r *running) read(out io.Reader) {
	defer close(r.lines)
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		r.lines <- scanner.Text()
	}
	r.ended <- r.cmd.Wait()
}

// url waits until a server is ready, and returns its address.
func (r *running) url(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-r.lines:
		require.True(t, ok, "it ended before it was ready")
		address, found := strings.CutPrefix(line, "aisle: listening on ")
		require.True(t, found, line)
		return address
	case <-time.After(time.Minute):
		require.Fail(t, "no server is ready within a minute")
		return ""
	}
}

// terminate asks the program to end and expects that it does so in order and in time.
func (r *running) terminate(t *testing.T) {
	t.Helper()
	asked := time.Now()
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-r.ended:
		require.NoError(t, err, "the exit code is 0")
	case <-time.After(30 * time.Second):
		require.Fail(t, "SIGTERM did not end it")
	}
	assert.Less(t, time.Since(asked), 15*time.Second)
}

// kill does what kill -9 does.
func (r *running) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Kill())
}

func TestWrongFlagsEndWithCode2AndOneLine(t *testing.T) {
	t.Parallel()
	database := "--postgres-url=postgres://x@127.0.0.1:1/x"
	for name, args := range map[string][]string{
		"no command":               {},
		"unknown command":          {"sell"},
		"unknown flag":             {"up", "--data=/nowhere", "--colour"},
		"serve without a database": {"serve"},
		"a database that is none":  {"migrate", "--postgres-url=postgres://x@h:port/x"},
		"no replicas":              {"up", "--replicas=0"},
		"too many replicas":        {"up", "--replicas=65"},
		"not a number":             {"up", "--replicas=three"},
		"no port":                  {"up", "--listen=localhost"},
		"no such port":             {"up", "--listen=127.0.0.1:99999"},
		"ports run out":            {"up", "--listen=127.0.0.1:65535", "--replicas=2"},
		"ports overlap":            {"up", "--listen=127.0.0.1:9088", "--replicas=3"},
		"not a duration":           {"serve", database, "--hold-for=soon"},
		"out of bounds":            {"serve", database, "--hold-for=48h"},
		"not an address":           {"serve", database, "--listen=8080"},
		"not a web address":        {"serve", database, "--public-url=tickets"},
		"not a network":            {"serve", database, "--trusted-proxies=10.0.0.0/99"},
		"no such log level":        {"serve", database, "--log-level=loud"},
		"demo without a database":  {"demo"},
		"too many showings":        {"demo", database, "--showings=5001"},
		"less than no showings":    {"demo", database, "--showings=-1"},
		"no rows":                  {"demo", database, "--showings=1", "--rows=0"},
		"rows too long":            {"demo", database, "--showings=1", "--seats-per-row=201"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := finish(t, args...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			assert.True(t, strings.HasPrefix(stderr, "aisle: "), stderr)
		})
	}
}

func TestWithoutPostgresItEndsWithCode1AndOneLineAfterTenSeconds(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "migrate", "demo"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			args := []string{command, "--postgres-url=postgres://aisle:secret@127.0.0.1:1/aisle"}
			if command == "serve" {
				args = append(args, "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0")
			}
			began := time.Now()
			stdout, stderr, code := finish(t, args...)
			assert.Equal(t, 1, code)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			assert.True(t, strings.HasPrefix(stderr, "aisle: can't reach PostgreSQL (--postgres-url) within 10s"), stderr)
			assert.NotContains(t, stderr, "secret")
			assert.InDelta(t, 10, time.Since(began).Seconds(), 4)
		})
	}
}

func TestHelpShowsFlagVariableDefaultAndUnit(t *testing.T) {
	t.Parallel()
	for command, wants := range map[string][]string{
		"up": {
			`--listen="127.0.0.1:8080"`, "$AISLE_LISTEN", `--ops-listen="127.0.0.1:9090"`, "$AISLE_OPS_LISTEN",
			`--data="`, "$AISLE_DATA", "--replicas=1", "(servers, 1 to 64)", "$AISLE_REPLICAS", "--demo", "$AISLE_DEMO",
		},
		"serve": {
			"--postgres-url=URL", "$AISLE_POSTGRES_URL", "--redis-url=URL", "$AISLE_REDIS_URL",
			"--etcd-endpoints=URL", "$AISLE_ETCD_ENDPOINTS", `--listen="127.0.0.1:8080"`, "$AISLE_LISTEN",
			`--ops-listen="127.0.0.1:9090"`, "$AISLE_OPS_LISTEN", "--public-url=URL", "$AISLE_PUBLIC_URL",
			"--trusted-proxies=CIDR", "$AISLE_TRUSTED_PROXIES", "--hold-for=10m", "(duration)", "$AISLE_HOLD_FOR",
			"--max-seats=10", "(seats)", "$AISLE_MAX_SEATS",
		},
		"migrate": {"--postgres-url=URL", "$AISLE_POSTGRES_URL", "--app-role=NAME", "$AISLE_APP_ROLE"},
		"demo": {
			"--postgres-url=URL", "$AISLE_POSTGRES_URL", "--showings=0", "(showings, 1 to 5000)",
			"--rows=12", "(rows, 1 to 200)", "--seats-per-row=20", "(seats, 1 to 200)", "$AISLE_SEATS_PER_ROW",
		},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			stdout, _, code := finish(t, command, "--help")
			assert.Equal(t, 0, code)
			text := strings.Join(strings.Fields(stdout), " ")
			for _, want := range wants {
				assert.Contains(t, text, want)
			}
			flags := strings.Split(stdout, "\n      --")[1:]
			assert.Greater(t, len(flags), 2)
			for _, flag := range flags {
				name := flag[:strings.IndexAny(flag, "= \n")]
				if name != "version" {
					assert.Contains(t, flag, "$AISLE_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
				}
			}
		})
	}
}

func TestMigrateSaysWhatItDid(t *testing.T) {
	t.Parallel()
	database := stacktest.Database(t)
	stdout, stderr, code := finish(t, "migrate", "--postgres-url="+database)
	assert.Equal(t, 0, code, stderr)
	assert.Contains(t, stdout, "applied 00001_log.sql")
	stdout, stderr, code = finish(t, "migrate", "--postgres-url="+database)
	assert.Equal(t, 0, code, stderr)
	assert.NotContains(t, stdout, "applied")
	_, stderr, code = finish(t, "migrate", "--postgres-url="+database, "--app-role=nobody_made_it")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "nobody_made_it")
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}
