package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/deploy/localstack"
)

const (
	// reshardStep is the time between two steps of Reshard, in which clients meet a slot that is in two places.
	reshardStep = 30 * time.Millisecond
	// migrateTimeout bounds the move of one key, in ms.
	migrateTimeout = 2000
)

// Cluster is three Redis primaries with a replica each, which take over after two seconds. Addresses are host:port.
type Cluster struct {
	nodes  *localstack.Cluster
	client *redis.ClusterClient
}

func startCluster(ctx context.Context, dir string) (*Cluster, error) {
	nodes, err := localstack.StartCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: nodes.Addresses(), ClusterStateReloadInterval: time.Second, DialerRetries: 1, ReadTimeout: redisTimeout, DisableIdentity: true,
	})
	return &Cluster{nodes: nodes, client: client}, nil
}

// Cluster is the Redis of a ClusterRedis fleet, nil in others.
func (f *Fleet) Cluster() *Cluster { return f.stores.cluster }

// Primary is the address of the one that has the key's slot, by the nodes' own word.
func (c *Cluster) Primary(ctx context.Context, key string) (string, error) {
	slot, err := c.client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return "", fmt.Errorf("fleet: primary of %s: %w", key, err)
	}
	m, _, ok := c.parties(ctx, int(slot))
	if !ok {
		return "", fmt.Errorf("fleet: slot %d of %s has no primary", slot, key)
	}
	return m.address, nil
}

// KillPrimary kills the primary of the key's slot as kill -9 does, and returns its address.
func (c *Cluster) KillPrimary(ctx context.Context, key string) (dead string, err error) {
	if dead, err = c.Primary(ctx, key); err != nil {
		return "", err
	}
	return dead, c.nodes.KillServer(dead)
}

// AwaitPrimary waits until another node than the dead one is the primary of the key's slot, and returns its address.
func (c *Cluster) AwaitPrimary(ctx context.Context, key, dead string) (primary string, err error) {
	ctx, cancel := context.WithTimeout(ctx, failoverTimeout)
	defer cancel()
	err = until(ctx, func() bool {
		primary, err = c.Primary(ctx, key)
		return err == nil && primary != dead && leads(ctx, primary)
	})
	if err != nil {
		return "", fmt.Errorf("fleet: no new primary of %s: %w", key, err)
	}
	return primary, nil
}

// StartNode starts a killed node again. Whatever it was, it comes back as a replica where another has taken over.
func (c *Cluster) StartNode(ctx context.Context, address string) error {
	return c.nodes.StartServer(ctx, address)
}

// Reshard moves the key's slot with all its keys to another primary while it is in use, key by key: meanwhile some of
// its keys are here and some there. It returns the addresses of both.
func (c *Cluster) Reshard(ctx context.Context, key string) (from, to string, err error) {
	slot, err := c.client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return "", "", fmt.Errorf("fleet: reshard %s: %w", key, err)
	}
	source, target, ok := c.parties(ctx, int(slot))
	if !ok {
		return "", "", fmt.Errorf("fleet: reshard slot %d: there are no two primaries", slot)
	}
	if err := moveSlot(ctx, int(slot), source, target); err != nil {
		return "", "", fmt.Errorf("fleet: reshard slot %d: %w", slot, err)
	}
	return source.address, target.address, nil
}

// parties are the primary that has the slot and another one.
func (c *Cluster) parties(ctx context.Context, slot int) (source, target member, ok bool) {
	for _, address := range c.nodes.Addresses() {
		m, err := askMember(ctx, address)
		switch {
		case err != nil || !m.primary:
		case !m.has(slot):
			target = m
		case m.epoch >= source.epoch: // a primary that is back from the dead has yet to hear of its successor
			source = m
		}
	}
	return source, target, source.id != "" && target.id != ""
}

func moveSlot(ctx context.Context, slot int, source, target member) error {
	giver, taker := connect(source.address), connect(target.address)
	defer func() { _ = errors.Join(giver.Close(), taker.Close()) }()
	if err := taker.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", source.id).Err(); err != nil {
		return err
	}
	if err := giver.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", target.id).Err(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(target.address)
	if err != nil {
		return err
	}
	for {
		if err := pause(ctx, reshardStep); err != nil {
			return err
		}
		keys, err := giver.ClusterGetKeysInSlot(ctx, slot, 1).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		// A key that expired meanwhile is no error: NOKEY.
		if err := giver.Do(ctx, "MIGRATE", host, port, keys[0], 0, migrateTimeout).Err(); err != nil {
			return fmt.Errorf("move %s: %w", keys[0], err)
		}
	}
	// The taker first: it is the one who says so to the others.
	if err := taker.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target.id).Err(); err != nil {
		return err
	}
	return giver.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target.id).Err()
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
