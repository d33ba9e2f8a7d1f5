package fleet_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

const (
	patience = 30 * time.Second
	tick     = 20 * time.Millisecond
)

// start is a fleet that ends with the test. Its program lies in its directory, so that its processes can be told from
// others'.
func start(t *testing.T, dir string, cfg fleet.Config) *fleet.Fleet {
	t.Helper()
	cfg.Dir, cfg.Binary = dir, programIn(t, dir)
	f, err := fleet.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Stop(context.WithoutCancel(t.Context()))) })
	return f
}

func programIn(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "aisle")
	if _, err := os.Stat(path); err != nil {
		require.NoError(t, os.Link(program, path))
	}
	return path
}

// running are the command lines of the processes that name a directory.
func running(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var lines []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(b), dir+"/") && !strings.Contains(file, "/self/") {
			lines = append(lines, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return lines
}

// get reads a page of a replica.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(b)
}

func TestAFleetIsBrokenAndMended(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), stacktest.Dir(t)
	f := start(t, dir, fleet.Config{Replicas: 2, LeaderTTL: 2 * time.Second, Showings: 3, Rows: 2, SeatsPerRow: 5})

	require.Len(t, f.URLs(), 2)
	require.Equal(t, 3, strings.Count(get(t, f.URLs()[1]+"/api/v1/showings"), `"total":10`))
	sample, err := f.Replica(0).Sample(ctx)
	require.NoError(t, err)
	require.Positive(t, min(int64(sample.Goroutines), int64(sample.FDs), sample.RSS, sample.Heap))

	first := leaderOtherThan(t, f, nil)
	first.Link(fleet.Etcd).Cut()
	second := leaderOtherThan(t, f, first)
	require.NoError(t, first.Link(fleet.Etcd).Mend())
	require.NoError(t, second.Pause(ctx))
	require.True(t, second.Alive())
	leaderOtherThan(t, f, second)
	require.NoError(t, second.Resume())

	require.NoError(t, f.Replica(0).Kill())
	require.False(t, f.Replica(0).Alive())
	require.Equal(t, []string{f.Replica(1).URL()}, f.URLs())
	require.Error(t, f.Replica(0).Pause(ctx), "there is nothing to pause")

	require.NoError(t, f.RedisClient().Set(ctx, "gone", 1, 0).Err())
	require.NoError(t, f.KillRedis())
	require.NoError(t, f.KillPostgres())
	require.NoError(t, f.CompactEtcd(ctx))
	require.NoError(t, f.StopEtcd(ctx))
	require.NoError(t, f.StartPostgres(ctx))
	require.NoError(t, f.StartRedis(ctx))
	require.NoError(t, f.StartEtcd(ctx))
	require.Zero(t, f.RedisClient().Exists(ctx, "gone").Val())
	require.NoError(t, f.StartReplicas(ctx))

	require.NoError(t, f.TerminateReplicas(ctx))
	require.Empty(t, f.URLs())
}

// leaderOtherThan waits for another leader.
func leaderOtherThan(t *testing.T, f *fleet.Fleet, last *fleet.Replica) *fleet.Replica {
	t.Helper()
	var leader *fleet.Replica
	require.Eventually(t, func() bool {
		leader = f.Leader(t.Context())
		return leader != nil && leader != last
	}, patience, tick)
	return leader
}

// The kernel ends what a killed driver ran, and what is left of it hinders nobody.
func TestAKilledDriverTakesAllWithIt(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	driver := exec.CommandContext(t.Context(), os.Args[0])
	driver.Env = append(os.Environ(), driverVariable+"="+dir, programVariable+"="+programIn(t, dir))
	driver.Stderr = os.Stderr
	out, err := driver.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, driver.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the driver says that its fleet is up")
	require.Equal(t, "up", lines.Text())
	require.NotEmpty(t, running(t, dir))

	require.NoError(t, driver.Process.Kill())
	require.Error(t, driver.Wait())
	require.Eventually(t, func() bool { return len(running(t, dir)) == 0 }, patience, tick, "all of the driver's processes end")

	f := start(t, dir, fleet.Config{Replicas: 1, Redis: fleet.NoRedis})
	require.Len(t, f.URLs(), 1)
	require.NoError(t, f.Stop(t.Context()))
	require.Empty(t, running(t, dir))
}

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	right := fleet.Config{Dir: "somewhere", Binary: "aisle"}.WithDefaults()
	require.NoError(t, right.Validate())
	for what, spoil := range map[string]func(*fleet.Config){
		"Dir":          func(c *fleet.Config) { c.Dir = "" },
		"Binary":       func(c *fleet.Config) { c.Binary = "" },
		"Replicas":     func(c *fleet.Config) { c.Replicas = 17 },
		"HoldFor":      func(c *fleet.Config) { c.HoldFor = -time.Second },
		"Redis":        func(c *fleet.Config) { c.Redis = fleet.NoRedis + 1 },
		"Showings":     func(c *fleet.Config) { c.Showings = -1 },
		"Namespaces":   func(c *fleet.Config) { c.Namespaces, c.Redis = true, fleet.ClusterRedis },
		"PostgresDisk": func(c *fleet.Config) { c.PostgresDisk = 1 << 20 },
		"RedisClock":   func(c *fleet.Config) { c.RedisClock, c.Redis = true, fleet.SentinelRedis },
		"whole second": func(c *fleet.Config) { c.ReplicaClock = map[int]time.Duration{0: time.Millisecond} },
		"Shifted":      func(c *fleet.Config) { c.ReplicaClock = map[int]time.Duration{0: time.Second} },
		"no replica 3": func(c *fleet.Config) { c.ReplicaClock = map[int]time.Duration{3: time.Second} },
	} {
		wrong := right
		spoil(&wrong)
		require.ErrorContains(t, wrong.Validate(), what)
	}
}
