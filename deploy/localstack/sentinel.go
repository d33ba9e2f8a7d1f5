package localstack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// SentinelMaster is the name under which Sentinel knows the master.
const SentinelMaster = "aisle"

const (
	sentinelServers = 2 // a master and its replica
	sentinels       = 3
)

// redisGroup is several redis-servers under one directory that a test can kill one by one.
type redisGroup struct {
	lock  *dirLock
	nodes []*groupNode
}

type groupNode struct {
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

// KillServer kills the redis-server at an address (the present master's, as a rule) as kill -9 does.
func (s *Sentinel) KillServer(address string) error { return s.group.kill(address) }

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
	g.nodes = append(g.nodes, &groupNode{port: port, running: running})
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
	for _, n := range g.nodes {
		if n.address() == address {
			return n.running.kill()
		}
	}
	return fmt.Errorf("localstack: no redis-server at %s", address)
}

func (g *redisGroup) stop(ctx context.Context) error {
	var errs []error
	for _, n := range slices.Backward(g.nodes) {
		errs = append(errs, n.running.stop(ctx))
	}
	if g.lock != nil {
		errs = append(errs, g.lock.release())
	}
	return errors.Join(errs...)
}
