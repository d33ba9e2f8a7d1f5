package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// opsTimeout bounds a question to a replica's ops listener; a replica that is paused doesn't answer.
const opsTimeout = 2 * time.Second

// Sample is what a replica uses at a moment.
type Sample struct {
	Goroutines, FDs int
	RSS, Heap       int64 // bytes: resident, and of the heap in use
}

// Sample reads what the replica uses.
func (r *Replica) Sample(ctx context.Context) (Sample, error) {
	values, err := r.metrics(ctx)
	if err != nil {
		return Sample{}, err
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes", "go_memstats_heap_inuse_bytes"} {
		if _, ok := values[name]; !ok {
			return Sample{}, fmt.Errorf("fleet: %s has no metric %s", r.Name, name)
		}
	}
	return Sample{
		Goroutines: int(values["go_goroutines"]),
		FDs:        int(values["process_open_fds"]),
		RSS:        int64(values["process_resident_memory_bytes"]),
		Heap:       int64(values["go_memstats_heap_inuse_bytes"]),
	}, nil
}

// Metric reads a metric: of one series when name has its labels as the replica writes them, name{label="value"}, and
// otherwise the sum of all series of that name.
func (r *Replica) Metric(ctx context.Context, name string) (float64, error) {
	values, err := r.metrics(ctx)
	if err != nil {
		return 0, err
	}
	sum, found := 0.0, false
	for series, value := range values {
		bare, _, _ := strings.Cut(series, "{")
		if series == name || bare == name {
			sum, found = sum+value, true
		}
	}
	if !found {
		return 0, fmt.Errorf("fleet: %s has no metric %s", r.Name, name)
	}
	return sum, nil
}

// metrics are all series with their values.
func (r *Replica) metrics(ctx context.Context) (map[string]float64, error) {
	body, err := r.get(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("fleet: metrics of %s: %w", r.Name, err)
	}
	defer func() { _ = body.Close() }()
	values := map[string]float64{}
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		cut := strings.LastIndexByte(lines.Text(), ' ')
		if cut < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[cut+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("fleet: metrics of %s: %w", r.Name, err)
		}
		values[lines.Text()[:cut]] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("fleet: metrics of %s: %w", r.Name, err)
	}
	return values, nil
}

// get asks the ops listener; all but 200 is an error.
func (r *Replica) get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ops+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	return resp.Body, nil
}

// opsClient keeps no connections, which would count among what the replicas use.
func opsClient() *http.Client {
	return &http.Client{Timeout: opsTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
}
