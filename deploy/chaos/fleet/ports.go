package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are picked from here: below the kernel's range for outgoing connections (32768 and up), whose sockets would
// otherwise sit on the port of a replica or of a link while it is down.
const (
	firstPort = 20000
	lastPort  = 32700
)

// ports gives each listener of a Fleet its own.
type ports struct {
	mu    sync.Mutex
	taken map[int]bool
}

// pick returns host with a port that nobody listens on.
func (p *ports) pick(ctx context.Context, host string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lc net.ListenConfig
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // Not a secret.
		if p.taken[port] {
			continue
		}
		address := net.JoinHostPort(host, strconv.Itoa(port))
		l, err := lc.Listen(ctx, "tcp4", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return "", fmt.Errorf("fleet: free port: %w", err)
		}
		p.taken[port] = true
		return address, nil
	}
	return "", fmt.Errorf("fleet: no free port on %s between %d and %d", host, firstPort, lastPort)
}
