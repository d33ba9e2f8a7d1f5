package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Names under which ports are remembered.
const (
	portPostgres   = "postgres"
	portRedis      = "redis"
	portEtcdClient = "etcd_client"
	portEtcdPeer   = "etcd_peer"
)

// Ports are picked from here: below the kernel's range for outgoing connections (32768 and up), whose
// sockets would otherwise sit on a remembered port while its store is down for a moment.
const (
	firstPort = 20000
	lastPort  = 32700
)

// ports remembers which store listens where, over restarts.
type ports struct {
	path string

	mu   sync.Mutex
	used map[string]int
}

func loadPorts(dir string) (*ports, error) {
	p := &ports{path: filepath.Join(dir, "ports.json"), used: map[string]int{}}
	b, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("localstack: remembered ports: %w", err)
	}
	p.used = decodePorts(b)
	return p, nil
}

// decodePorts reads remembered ports. A damaged file, or a port that was never picked, costs nothing but new ports.
func decodePorts(b []byte) map[string]int {
	used := map[string]int{}
	if json.Unmarshal(b, &used) != nil || used == nil {
		return map[string]int{}
	}
	maps.DeleteFunc(used, func(_ string, port int) bool { return port < firstPort || port >= lastPort })
	return used
}

func (p *ports) get(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[name]
}

func (p *ports) address(name string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.get(name)))
}

// claim returns the remembered port where it is free, and otherwise picks and remembers another.
func (p *ports) claim(ctx context.Context, name string) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if port, ok := p.used[name]; ok && portFree(ctx, port) {
		return port, nil
	}
	port, err := pickPort(ctx, p.used)
	if err != nil {
		return 0, err
	}
	p.used[name] = port
	return port, p.save()
}

func (p *ports) save() error {
	b, err := json.Marshal(p.used)
	if err != nil {
		return fmt.Errorf("remember ports: %w", err)
	}
	return writeFile(p.path, b)
}

func pickPort(ctx context.Context, used map[string]int) (int, error) {
	taken := make(map[int]bool, len(used))
	for _, port := range used {
		taken[port] = true
	}
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // Not a secret.
		if !taken[port] && portFree(ctx, port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", firstPort, lastPort)
}

func portFree(ctx context.Context, port int) bool {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
