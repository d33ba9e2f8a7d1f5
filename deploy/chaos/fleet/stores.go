package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/localstack"
)

// stores are the stores of a Fleet, each in a directory of its own: a full disk is one store's trouble alone.
type stores struct {
	kind     RedisKind
	postgres *localstack.Stack
	redis    *localstack.Stack // nil unless Single
	etcd     *localstack.Stack
	sentinel *Sentinel // nil unless SentinelRedis
	cluster  *Cluster  // nil unless ClusterRedis
	client   redis.UniversalClient
	disks    map[Store]*disk
	clock    *clock // of Redis; nil: the true one
}

// startStores runs all stores at once.
func startStores(ctx context.Context, cfg Config) (*stores, error) {
	s := &stores{kind: cfg.Redis, disks: map[Store]*disk{}}
	err := s.prepare(ctx, cfg)
	if err == nil {
		err = s.start(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fleet: %w", err), s.stop(context.WithoutCancel(ctx)))
	}
	s.connect()
	return s, nil
}

// prepare makes the disks and the clock.
func (s *stores) prepare(ctx context.Context, cfg Config) (err error) {
	for store, size := range map[Store]int64{Postgres: cfg.PostgresDisk, Redis: cfg.RedisDisk} {
		// One that a killed driver left would otherwise be this store's.
		if err := removeDeadDisks(storeDir(cfg, store)); err != nil {
			return err
		}
		if size == 0 {
			continue
		}
		if s.disks[store], err = mountDisk(storeDir(cfg, store), size); err != nil {
			return err
		}
	}
	if cfg.RedisClock {
		s.clock, err = buildClock(ctx, filepath.Join(cfg.Dir, "clock"))
	}
	return err
}

func storeDir(cfg Config, store Store) string { return filepath.Join(cfg.Dir, string(store)) }

func (s *stores) start(ctx context.Context, cfg Config) error {
	group, ctx := errgroup.WithContext(ctx)
	run := func(into **localstack.Stack, store Store, c localstack.Config) {
		c.Dir, c.Logger = storeDir(cfg, store), cfg.Logger
		group.Go(func() (err error) {
			*into, err = localstack.Start(ctx, c)
			return err
		})
	}
	run(&s.postgres, Postgres, localstack.Config{Services: localstack.Postgres})
	run(&s.etcd, Etcd, localstack.Config{Services: localstack.Etcd})
	switch cfg.Redis {
	case Single:
		run(&s.redis, Redis, s.singleRedis(cfg))
	case SentinelRedis:
		group.Go(func() (err error) {
			s.sentinel, err = startSentinel(ctx, storeDir(cfg, Redis))
			return err
		})
	case ClusterRedis:
		group.Go(func() (err error) {
			s.cluster, err = startCluster(ctx, storeDir(cfg, Redis))
			return err
		})
	case NoRedis:
	}
	return group.Wait()
}

func (s *stores) singleRedis(cfg Config) localstack.Config {
	c := localstack.Config{Services: localstack.Redis}
	if s.clock != nil {
		c.RedisEnvironment = s.clock.environment()
	}
	if cfg.RedisDisk > 0 {
		// A Redis that writes to its disk refuses what it can't write. It tidies up early: the disk is small.
		c.RedisArguments = []string{"--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-min-size", "1mb"}
	}
	return c
}

// redisTimeout bounds a question to Redis.
const redisTimeout = 2 * time.Second

// connect makes the direct client of Redis.
func (s *stores) connect() {
	switch s.kind {
	case Single:
		s.client = redis.NewClient(&redis.Options{
			Addr: address(s.redis.RedisURL()), DialerRetries: 1, ReadTimeout: redisTimeout, DisableIdentity: true,
		})
	case SentinelRedis:
		s.client = redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: localstack.SentinelMaster, SentinelAddrs: s.sentinel.nodes.Addresses(),
			DialerRetries: 1, ReadTimeout: redisTimeout, DisableIdentity: true,
		})
	case ClusterRedis:
		s.client = s.cluster.client
	case NoRedis:
	}
}

// addresses of the stores that replicas reach through links, host:port.
func (s *stores) addresses() map[Store]string {
	all := map[Store]string{
		Postgres: address(s.postgres.PostgresURL()),
		Etcd:     address(s.etcd.EtcdEndpoints()[0]),
	}
	if s.redis != nil {
		all[Redis] = address(s.redis.RedisURL())
	}
	return all
}

// redisURL is the replicas' URL of a Redis without links; empty for none.
func (s *stores) redisURL() string {
	switch s.kind {
	case SentinelRedis:
		return "redis+sentinel://" + strings.Join(s.sentinel.nodes.Addresses(), ",") + "/" + localstack.SentinelMaster
	case ClusterRedis:
		return "redis+cluster://" + strings.Join(s.cluster.nodes.Addresses(), ",")
	case Single, NoRedis:
	}
	return ""
}

// address is the host:port of a store's URL.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

func (s *stores) stop(ctx context.Context) error {
	var errs []error
	if s.client != nil && s.cluster == nil {
		errs = append(errs, s.client.Close())
	}
	for _, stack := range []*localstack.Stack{s.redis, s.etcd, s.postgres} {
		if stack != nil {
			errs = append(errs, stack.Stop(ctx))
		}
	}
	if s.sentinel != nil {
		errs = append(errs, s.sentinel.nodes.Stop(ctx))
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.client.Close(), s.cluster.nodes.Stop(ctx))
	}
	for _, d := range s.disks {
		if d != nil {
			errs = append(errs, d.unmount())
		}
	}
	return errors.Join(errs...)
}

// KillPostgres kills PostgreSQL as kill -9 does.
func (f *Fleet) KillPostgres() error { return f.stores.postgres.KillPostgres() }

// StartPostgres starts a PostgreSQL that was killed or stopped, and waits until it has recovered.
func (f *Fleet) StartPostgres(ctx context.Context) error { return f.stores.postgres.StartPostgres(ctx) }

// StopPostgres stops it in the way that rolls open transactions back.
func (f *Fleet) StopPostgres(ctx context.Context) error { return f.stores.postgres.StopPostgres(ctx) }

// RestartPostgres stops it and starts it again.
func (f *Fleet) RestartPostgres(ctx context.Context) error {
	if err := f.StopPostgres(ctx); err != nil {
		return err
	}
	return f.StartPostgres(ctx)
}

// errNoSingle: the Redis is none, or several.
var errNoSingle = errors.New("fleet: there is no single Redis")

// KillRedis kills a Single Redis as kill -9 does.
func (f *Fleet) KillRedis() error {
	if f.stores.redis == nil {
		return errNoSingle
	}
	return f.stores.redis.KillRedis()
}

// StartRedis starts a Single Redis again: empty, or, with Config.RedisDisk, with what its disk has.
func (f *Fleet) StartRedis(ctx context.Context) error {
	if f.stores.redis == nil {
		return errNoSingle
	}
	return f.stores.redis.StartRedis(ctx)
}

// StopEtcd stops etcd.
func (f *Fleet) StopEtcd(ctx context.Context) error { return f.stores.etcd.StopEtcd(ctx) }

// StartEtcd starts etcd again, with its data.
func (f *Fleet) StartEtcd(ctx context.Context) error { return f.stores.etcd.StartEtcd(ctx) }

// CompactEtcd forgets all of etcd's history: a watch that was away can't go on from where it was.
func (f *Fleet) CompactEtcd(ctx context.Context) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: f.Etcd(), DialTimeout: opsTimeout, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("fleet: compact etcd: %w", err)
	}
	defer func() { _ = client.Close() }()
	now, err := client.Get(ctx, "revision")
	if err != nil {
		return fmt.Errorf("fleet: compact etcd: %w", err)
	}
	if _, err := client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("fleet: compact etcd: %w", err)
	}
	return nil
}
