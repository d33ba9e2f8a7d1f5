package localstack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const clusterNodes = 6 // three masters, each with a replica

// Cluster is a Redis Cluster of six nodes.
type Cluster struct{ group redisGroup }

// StartCluster starts the nodes under dir and waits until all of them call the cluster healthy.
func StartCluster(ctx context.Context, dir string) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("localstack: start Redis Cluster: %w", err), c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, dir string) error {
	cli, err := redisProgram("redis-cli", "redis-tools")
	if err != nil {
		return err
	}
	who, err := c.group.open(dir)
	if err != nil {
		return err
	}
	for i := range clusterNodes {
		node := groupMember(who, dir, "node"+strconv.Itoa(i))
		// What an earlier cluster in this directory agreed on is void: the ports are new.
		if err := removeStale(node.dir); err != nil {
			return err
		}
		// The bus listens at the port + 10000: below 65536 for all the ports that we pick.
		node.args = func(int) []string {
			return []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0"}
		}
		if err := c.group.add(ctx, node); err != nil {
			return err
		}
	}
	args := append([]string{"--cluster", "create"}, c.Addresses()...)
	args = append(args, "--cluster-replicas", "1", "--cluster-yes")
	if err := (command{who: who, program: cli, args: args, dir: dir}).output(ctx); err != nil {
		return err
	}
	if err := waitUntil(ctx, 2*stopTimeout, func() bool { return c.healthy(ctx) }); err != nil {
		return fmt.Errorf("the cluster does not become healthy: %w", err)
	}
	return nil
}

// healthy says whether each node sees all slots served and all nodes, and each master has a replica in step.
func (c *Cluster) healthy(ctx context.Context) bool {
	for _, n := range c.group.nodes {
		if !healthyNode(ctx, n.port) {
			return false
		}
	}
	return true
}

func healthyNode(ctx context.Context, port int) bool {
	client := redisClient(port)
	defer func() { _ = client.Close() }()
	info, infoErr := client.ClusterInfo(ctx).Result()
	nodes, nodesErr := client.ClusterNodes(ctx).Result()
	replication, err := client.Info(ctx, "replication").Result()
	if errors.Join(infoErr, nodesErr, err) != nil {
		return false
	}
	return strings.Contains(info, "cluster_state:ok") &&
		strings.Count(nodes, "slave") == clusterNodes/2 && !strings.Contains(nodes, "handshake") &&
		(strings.Contains(replication, "master_link_status:up") || strings.Contains(replication, "state=online"))
}

// Addresses of the nodes, host:port.
func (c *Cluster) Addresses() []string { return c.group.addresses() }

// KillServer kills the node at an address as kill -9 does.
func (c *Cluster) KillServer(address string) error { return c.group.kill(address) }

// StartServer starts the node at an address again, with the part that it had in the cluster.
func (c *Cluster) StartServer(ctx context.Context, address string) error {
	return c.group.restart(ctx, address)
}

// Stop stops all nodes.
func (c *Cluster) Stop(ctx context.Context) error { return c.group.stop(ctx) }
