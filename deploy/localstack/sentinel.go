package localstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// SentinelMaster is the name under which Sentinel knows the master.
const SentinelMaster = "aisle"

const (
	sentinelServers = 2 // a master and its replica
	sentinels       = 3
)

// redisGroup is several redis-servers under one directory that a test can kill, stop and start one by one.
type redisGroup struct {
	lock *dirLock

	mu    sync.Mutex // after the start: what runs in a node changes
	nodes []*groupNode
}

type groupNode struct {
	redisNode

	port    int
	running *process
}

func (n *groupNode) address() string { return "127.0.0.1:" + strconv.Itoa(n.port) }

// Sentinel is a Redis master with one replica, watched by three sentinels that fail over after one second.
type Sentinel struct{ group redisGroup }

// StartSentinel starts them under dir and waits until the replica is in step and the sentinels know each other.
func StartSentinel(ctx context.Context, dir string) (*Sentinel, error) {
	s := &Sentinel{}
	if err := s.start(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("localstack: start Sentinel: %w", err), s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Sentinel) start(ctx context.Context, dir string) error {
	who, err := s.group.open(dir)
	if err != nil {
		return err
	}
	for i := range sentinelServers {
		node := groupMember(who, dir, "server"+strconv.Itoa(i))
		node.args = func(int) []string {
			if i == 0 {
				return []string{"--repl-diskless-sync-delay", "0"}
			}
			return []string{"--replicaof", "127.0.0.1 " + strconv.Itoa(s.group.nodes[0].port)}
		}
		if err := s.group.add(ctx, node); err != nil {
			return err
		}
	}
	for i := range sentinels {
		node := groupMember(who, dir, "sentinel"+strconv.Itoa(i))
		if err := s.addSentinel(ctx, node); err != nil {
			return err
		}
	}
	if err := waitUntil(ctx, stopTimeout, func() bool { return s.settled(ctx) }); err != nil {
		return fmt.Errorf("the sentinels do not agree: %w", err)
	}
	return nil
}

func (s *Sentinel) addSentinel(ctx context.Context, node redisNode) error {
	if err := node.prepare(ctx); err != nil {
		return err
	}
	node.config = filepath.Join(node.dir, "sentinel.conf")
	node.args = func(int) []string { return []string{"--sentinel"} }
	err := node.writeConfig(
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", SentinelMaster, s.group.nodes[0].port),
		fmt.Sprintf("sentinel down-after-milliseconds %s 1000", SentinelMaster),
		fmt.Sprintf("sentinel failover-timeout %s 5000", SentinelMaster),
	)
	if err != nil {
		return err
	}
	return s.group.add(ctx, node)
}

// settled says whether each sentinel knows the replica and the other sentinels.
func (s *Sentinel) settled(ctx context.Context) bool {
	for _, n := range s.group.nodes[sentinelServers:] {
		client := redis.NewSentinelClient(&redis.Options{Addr: n.address(), MaxRetries: -1, DialerRetries: 1})
		master, err := client.Master(ctx, SentinelMaster).Result()
		_ = client.Close()
		if err != nil || master["num-slaves"] != "1" || master["num-other-sentinels"] != strconv.Itoa(sentinels-1) {
			return false
		}
	}
	return true
}

// Addresses of the sentinels, host:port.
func (s *Sentinel) Addresses() []string { return s.group.addresses()[sentinelServers:] }

// Servers are the addresses of the two redis-servers, host:port.
func (s *Sentinel) Servers() []string { return s.group.addresses()[:sentinelServers] }

// Master is the address of the one that the first sentinel to answer takes for the master.
func (s *Sentinel) Master(ctx context.Context) (string, error) {
	var errs []error
	for _, address := range s.Addresses() {
		client := redis.NewSentinelClient(&redis.Options{Addr: address, MaxRetries: -1, DialerRetries: 1})
		master, err := client.GetMasterAddrByName(ctx, SentinelMaster).Result()
		_ = client.Close()
		if err == nil && len(master) == 2 {
			return net.JoinHostPort(master[0], master[1]), nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("localstack: the sentinels name no master: %w", errors.Join(errs...))
}

// KillServer kills the redis-server at an address (the present master's, as a rule) as kill -9 does.
func (s *Sentinel) KillServer(address string) error { return s.group.kill(address) }

// StartServer starts the redis-server at an address again, as a replica of the present master.
func (s *Sentinel) StartServer(ctx context.Context, address string) error {
	master, err := s.Master(ctx)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return fmt.Errorf("localstack: address of the master: %w", err)
	}
	return s.group.restart(ctx, address, "--replicaof", host+" "+port)
}

// PauseServer stops the redis-server at an address as kill -STOP does.
func (s *Sentinel) PauseServer(address string) error { return s.group.signal(address, syscall.SIGSTOP) }

// ResumeServer lets it go on.
func (s *Sentinel) ResumeServer(address string) error {
	return s.group.signal(address, syscall.SIGCONT)
}

// Stop stops all of them.
func (s *Sentinel) Stop(ctx context.Context) error { return s.group.stop(ctx) }

func groupMember(who account, dir, name string) redisNode {
	return redisNode{who: who, dir: filepath.Join(dir, name), log: filepath.Join(dir, name+".log")}
}

func (g *redisGroup) open(dir string) (account, error) {
	who, err := storeAccount()
	if err != nil {
		return account{}, err
	}
	if err := who.openDir(dir); err != nil {
		return account{}, err
	}
	g.lock, err = lockDir(dir)
	return who, err
}

// add starts one more node, on a port of its own.
func (g *redisGroup) add(ctx context.Context, node redisNode) error {
	if err := node.prepare(ctx); err != nil {
		return err
	}
	used := map[string]int{}
	for _, n := range g.nodes {
		used[n.address()] = n.port
	}
	running, port, err := node.launch(ctx, func() (int, error) { return pickPort(ctx, used) })
	if err != nil {
		return err
	}
	g.nodes = append(g.nodes, &groupNode{redisNode: node, port: port, running: running})
	return nil
}

func (g *redisGroup) addresses() []string {
	out := make([]string, 0, len(g.nodes))
	for _, n := range g.nodes {
		out = append(out, n.address())
	}
	return out
}

func (g *redisGroup) kill(address string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, err := g.find(address)
	if err != nil {
		return err
	}
	return n.running.kill()
}

func (g *redisGroup) signal(address string, sig syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, err := g.find(address)
	if err != nil {
		return err
	}
	return n.running.signal(sig)
}

// restart starts a node that was killed, on its port and with the files that it left; with other arguments where
// there are some.
func (g *redisGroup) restart(ctx context.Context, address string, args ...string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, err := g.find(address)
	if err != nil {
		return err
	}
	if !n.running.exited() {
		return fmt.Errorf("localstack: the redis-server at %s is running", address)
	}
	if len(args) > 0 {
		n.args = func(int) []string { return args }
	}
	running, _, err := n.launch(ctx, func() (int, error) { return n.port, nil })
	if err != nil {
		return fmt.Errorf("localstack: start the redis-server at %s: %w", address, err)
	}
	n.running = running
	return nil
}

func (g *redisGroup) find(address string) (*groupNode, error) {
	for _, n := range g.nodes {
		if n.address() == address {
			return n, nil
		}
	}
	return nil, fmt.Errorf("localstack: no redis-server at %s", address)
}

func (g *redisGroup) stop(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, n := range slices.Backward(g.nodes) {
		// One that a test has stopped would not hear that it is to end.
		errs = append(errs, n.running.signal(syscall.SIGCONT), n.running.stop(ctx))
	}
	if g.lock != nil {
		errs = append(errs, g.lock.release())
	}
	return errors.Join(errs...)
}
