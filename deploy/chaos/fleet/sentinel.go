package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/deploy/localstack"
)

// failoverTimeout bounds the wait for others to take over. Sentinel and Cluster need 2 to 5 s.
const failoverTimeout = 30 * time.Second

// Sentinel is a Redis master and its replica under three sentinels, which fail over after a second. Addresses are
// host:port.
type Sentinel struct {
	nodes *localstack.Sentinel

	mu     sync.Mutex
	behind []string // servers that stand still
}

func startSentinel(ctx context.Context, dir string) (*Sentinel, error) {
	nodes, err := localstack.StartSentinel(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Sentinel{nodes: nodes}, nil
}

// Sentinel is the Redis of a SentinelRedis fleet, nil in others.
func (f *Fleet) Sentinel() *Sentinel { return f.stores.sentinel }

// Master is the address of the present master.
func (s *Sentinel) Master(ctx context.Context) (string, error) { return s.nodes.Master(ctx) }

// DelayReplica keeps the replica at what it has now: what the master acknowledges from here on is lost when KillMaster
// makes the replica the master. The replica stands still until then, or until ResumeReplica.
func (s *Sentinel) DelayReplica(ctx context.Context) error {
	master, err := s.Master(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.nodes.Servers() {
		if server == master {
			continue
		}
		if err := s.nodes.PauseServer(server); err != nil {
			return fmt.Errorf("fleet: delay the replica of Redis: %w", err)
		}
		s.behind = append(s.behind, server)
	}
	// The kernel would go on taking in what the master sends, for the replica to read before it is promoted.
	return hangUpReplicas(ctx, master)
}

func hangUpReplicas(ctx context.Context, master string) error {
	client := connect(master)
	defer func() { _ = client.Close() }()
	if err := client.ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
		return fmt.Errorf("fleet: delay the replica of Redis: %w", err)
	}
	return nil
}

// ResumeReplica lets a replica that stands still catch up.
func (s *Sentinel) ResumeReplica() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.behind {
		if err := s.nodes.ResumeServer(server); err != nil {
			return fmt.Errorf("fleet: resume the replica of Redis: %w", err)
		}
	}
	s.behind = nil
	return nil
}

// KillMaster kills the present master as kill -9 does, and then lets a delayed replica go on. It returns the address
// of the dead.
func (s *Sentinel) KillMaster(ctx context.Context) (dead string, err error) {
	if dead, err = s.Master(ctx); err != nil {
		return "", err
	}
	if err := s.nodes.KillServer(dead); err != nil {
		return "", err
	}
	return dead, s.ResumeReplica()
}

// AwaitMaster waits until there is another master than the dead one, and returns its address.
func (s *Sentinel) AwaitMaster(ctx context.Context, dead string) (master string, err error) {
	ctx, cancel := context.WithTimeout(ctx, failoverTimeout)
	defer cancel()
	err = until(ctx, func() bool {
		master, err = s.Master(ctx)
		return err == nil && master != dead && leads(ctx, master)
	})
	if err != nil {
		return "", fmt.Errorf("fleet: no new master of Redis: %w", err)
	}
	return master, nil
}

// connect makes a client of one redis-server that says at once what is wrong.
func connect(address string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: address, MaxRetries: -1, DialerRetries: 1, DialTimeout: redisTimeout, ReadTimeout: 2 * redisTimeout, DisableIdentity: true,
	})
}

// leads says whether a redis-server takes itself for a master.
func leads(ctx context.Context, address string) bool {
	client := connect(address)
	defer func() { _ = client.Close() }()
	role, err := client.Do(ctx, "ROLE").Slice()
	return err == nil && len(role) > 0 && role[0] == "master"
}

// StartNode starts a killed server again, as a replica of the present master.
func (s *Sentinel) StartNode(ctx context.Context, address string) error {
	return s.nodes.StartServer(ctx, address)
}
