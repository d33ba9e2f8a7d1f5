package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Fleet is running stores and replicas. Its methods may be called from several goroutines, but for Stop, which is the
// last.
type Fleet struct {
	cfg      Config
	ports    *ports
	stores   *stores
	network  *network // nil without Config.Namespaces
	proxies  *toxiproxy.ApiServer
	replicas []*Replica
	stopped  atomic.Bool
}

// Start runs everything and waits until each replica is ready. When it fails nothing is left running.
func Start(ctx context.Context, cfg Config) (*Fleet, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg, err := cfg.absolute()
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	f := &Fleet{
		cfg:     cfg,
		ports:   &ports{taken: map[int]bool{}},
		proxies: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
	}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.Stop(context.WithoutCancel(ctx)))
	}
	return f, nil
}

func (f *Fleet) start(ctx context.Context) error {
	if err := makeDirs(f.cfg.Dir, filepath.Join(f.cfg.Dir, "logs")); err != nil {
		return err
	}
	var err error
	if f.cfg.Namespaces {
		if f.network, err = openNetwork(ctx, f.cfg.Replicas); err != nil {
			return err
		}
	}
	if f.stores, err = startStores(ctx, f.cfg); err != nil {
		return err
	}
	password, err := f.prepareDatabase(ctx)
	if err != nil {
		return err
	}
	for i := range f.cfg.Replicas {
		r, err := f.newReplica(ctx, i, password)
		if err != nil {
			return err
		}
		f.replicas = append(f.replicas, r)
	}
	return f.StartReplicas(ctx)
}

// makeDirs makes directories that the stores' user can pass through, whatever the umask.
func makeDirs(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // See above.
			return fmt.Errorf("fleet: %w", err)
		}
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // See above.
			return fmt.Errorf("fleet: %w", err)
		}
	}
	return nil
}

// newReplica settles where a replica listens and opens its links.
func (f *Fleet) newReplica(ctx context.Context, i int, password string) (*Replica, error) {
	r := &Replica{Number: i, Name: fmt.Sprintf("replica-%d", i), program: f.cfg.Binary, http: opsClient(), links: map[Store]*Link{}}
	r.logPath = filepath.Join(f.cfg.Dir, "logs", r.Name+".log")
	host, outside := "127.0.0.1", "127.0.0.1"
	if f.network != nil {
		r.inside = f.network.namespaces[i]
		host, outside = r.inside.address, f.network.address
	}
	listen, err := f.listen(ctx, r, host)
	if err != nil {
		return nil, err
	}
	urls, err := f.openLinks(ctx, r, outside, password)
	if err != nil {
		r.cutAll()
		return nil, err
	}
	r.args = append([]string{
		"serve", "--hold-for", f.cfg.HoldFor.String(), "--leader-ttl", f.cfg.LeaderTTL.String(),
		"--command-rate", "0", "--session-rate", "0", // the clients of a test are faster than people
	}, f.cfg.Flags...)
	r.env = slices.Concat(environment(), urls, listen, f.cfg.Env)
	if shift, ok := f.cfg.ReplicaClock[i]; ok {
		r.program = f.cfg.ShiftedBinary
		r.env = append(r.env, clockVariable+"="+shift.String())
	}
	return r, nil
}

func (f *Fleet) listen(ctx context.Context, r *Replica, host string) (env []string, err error) {
	public, ops := host+":8080", host+":9090"
	if r.inside == nil {
		if public, err = f.ports.pick(ctx, host); err != nil {
			return nil, err
		}
		if ops, err = f.ports.pick(ctx, host); err != nil {
			return nil, err
		}
	}
	r.url, r.ops = "http://"+public, "http://"+ops
	return []string{"AISLE_LISTEN=" + public, "AISLE_OPS_LISTEN=" + ops}, nil
}

// openLinks opens a replica's ways to the stores, and returns the variables that send it there.
func (f *Fleet) openLinks(ctx context.Context, r *Replica, outside, password string) (env []string, err error) {
	redisURL := f.stores.redisURL()
	for store, address := range f.stores.addresses() {
		listen, err := f.ports.pick(ctx, outside)
		if err != nil {
			return nil, err
		}
		link, err := newLink(f.proxies, r.Name+" "+string(store), listen, address)
		if err != nil {
			return nil, err
		}
		r.links[store] = link
		switch store {
		case Postgres:
			u, err := f.appURL(listen, password)
			if err != nil {
				return nil, err
			}
			env = append(env, "AISLE_POSTGRES_URL="+u)
		case Redis:
			redisURL = "redis://" + listen + "/0"
		case Etcd:
			env = append(env, "AISLE_ETCD_ENDPOINTS=http://"+listen)
		}
	}
	return append(env, "AISLE_REDIS_URL="+redisURL), nil
}

// cutAll closes the replica's links for good.
func (r *Replica) cutAll() {
	for _, l := range r.links {
		l.Cut()
	}
}

// Replicas are all of them, by their numbers.
func (f *Fleet) Replicas() []*Replica { return f.replicas }

// Replica is the one with that number, from 0.
func (f *Fleet) Replica(number int) *Replica { return f.replicas[number] }

// URLs are the public addresses of the replicas that nobody has killed or terminated.
func (f *Fleet) URLs() []string {
	var urls []string
	for _, r := range f.replicas {
		if r.up() {
			urls = append(urls, r.url)
		}
	}
	return urls
}

// Leader is a replica that says it leads; nil when none does. It asks all at once, but for those that are paused.
func (f *Fleet) Leader(ctx context.Context) *Replica {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan *Replica, len(f.replicas))
	asked := 0
	for _, r := range f.replicas {
		if !r.answering() {
			continue
		}
		asked++
		go func() {
			if leads, err := r.Metric(ctx, "aisle_leader"); err != nil || leads != 1 {
				answers <- nil
				return
			}
			answers <- r
		}()
	}
	for range asked {
		if r := <-answers; r != nil {
			return r
		}
	}
	return nil
}

// StartReplicas starts, all at once, those that are not running, and waits until they are ready.
func (f *Fleet) StartReplicas(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range f.replicas {
		if !r.Alive() {
			group.Go(func() error { return r.Start(ctx) })
		}
	}
	return group.Wait()
}

// TerminateReplicas ends, all at once, those that are running. A replica that does not end with 0 is an error.
func (f *Fleet) TerminateReplicas(ctx context.Context) error {
	var group errgroup.Group
	for _, r := range f.replicas {
		if !r.Alive() {
			continue
		}
		group.Go(func() error {
			code, err := r.Terminate(ctx)
			if err == nil && code != 0 {
				err = fmt.Errorf("fleet: %s ended with %d", r.Name, code)
			}
			return err
		})
	}
	return group.Wait()
}

// Stop ends everything, and removes mounts and namespaces. The files under Dir stay, but for what was on disks of
// their own. A second call does nothing.
func (f *Fleet) Stop(ctx context.Context) error {
	if f.stopped.Swap(true) {
		return nil
	}
	var errs []error
	for _, r := range f.replicas {
		errs = append(errs, r.stop())
		r.cutAll()
	}
	if f.stores != nil {
		errs = append(errs, f.stores.stop(ctx))
	}
	if f.network != nil {
		errs = append(errs, f.network.close(ctx))
	}
	err := errors.Join(errs...)
	if err != nil {
		f.cfg.Logger.ErrorContext(ctx, "the fleet does not stop cleanly", slog.Any("error", err))
	}
	return err
}

// Postgres is the owner's URL of the database, past all links.
func (f *Fleet) Postgres() string { return f.stores.postgres.PostgresURL() }

// Etcd is its endpoints, past all links.
func (f *Fleet) Etcd() []string { return f.stores.etcd.EtcdEndpoints() }

// RedisClient is a client of the Redis, past all links; nil where there is none. It is closed by Stop.
func (f *Fleet) RedisClient() redis.UniversalClient { return f.stores.client }
