package localstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Services is a set of stores.
type Services uint8

// The stores, and all of them.
const (
	Postgres Services = 1 << iota
	Redis
	Etcd
	All = Postgres | Redis | Etcd
)

// Has says whether all of other are in s.
func (s Services) Has(other Services) bool { return s&other == other }

// stopTimeout bounds the wait for one store to stop by itself before it is killed.
const stopTimeout = 8 * time.Second

// Config of a Stack.
type Config struct {
	// Dir holds all data; it is made when missing. No default.
	Dir string
	// Services to run. Default: All.
	Services Services
	// Volatile gives up durability for speed: no fsync in PostgreSQL, so that what was committed survives the
	// death of its processes, but not that of the machine. For tests only. Default: false.
	Volatile bool
	// PostgresSettings are further settings of PostgreSQL, name=value each. Default: none.
	PostgresSettings []string
	// RedisArguments follow our own on redis-server's command line, and win over them. Default: none.
	RedisArguments []string
	// RedisEnvironment are further variables for redis-server, NAME=value each. Default: none.
	RedisEnvironment []string
	// StartTimeout bounds the start of one store, recovery after a crash included. Default: 60 s.
	StartTimeout time.Duration
	// Locked runs when the directory is ours and before any store starts: the place to end what else a killed
	// run left there. Default: nothing.
	Locked func(ctx context.Context) error
	// Logger hears of what was recovered and restarted. Default: none.
	Logger *slog.Logger
}

// WithDefaults returns the Config with what was left open filled in.
func (c Config) WithDefaults() Config {
	if c.Services == 0 {
		c.Services = All
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = time.Minute
	}
	if c.Locked == nil {
		c.Locked = func(context.Context) error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate says what is wrong with the Config.
func (c Config) Validate() error {
	if c.Dir == "" {
		return errors.New("localstack: Dir is empty")
	}
	if c.Services&^All != 0 {
		return fmt.Errorf("localstack: unknown services %b", c.Services)
	}
	if c.StartTimeout < 0 {
		return fmt.Errorf("localstack: StartTimeout is negative: %s", c.StartTimeout)
	}
	return nil
}

// Stack is the running stores of one directory. Its methods may be called from several goroutines.
type Stack struct {
	cfg      Config
	who      account
	ports    *ports
	lock     *dirLock
	postgres *postgresServer
	redis    *redisServer
	etcd     *etcdServer

	mu      sync.Mutex
	started Services // what should be up: Watch restarts these
}

// Start runs the stores and waits until each answers. It fails with a *MissingError where a program is
// missing, and with a *BusyError while another Stack uses the directory.
func Start(ctx context.Context, cfg Config) (*Stack, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("localstack: %w", err)
	}
	cfg.Dir = dir
	s, err := open(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// open prepares the directory and takes its lock.
func open(cfg Config) (*Stack, error) {
	who, err := storeAccount()
	if err != nil {
		return nil, err
	}
	if err := who.openDir(cfg.Dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	ports, err := loadPorts(cfg.Dir)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s := &Stack{cfg: cfg, who: who, ports: ports, lock: lock}
	if s.postgres, err = newPostgres(s); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s.redis = &redisServer{stack: s, dir: filepath.Join(cfg.Dir, "redis")}
	s.etcd = &etcdServer{stack: s, dir: filepath.Join(cfg.Dir, "etcd")}
	return s, nil
}

func (s *Stack) startAll(ctx context.Context) error {
	if err := s.cfg.Locked(ctx); err != nil {
		return err
	}
	for _, store := range s.stores() {
		if !s.cfg.Services.Has(store.service) {
			continue
		}
		if err := s.start(ctx, store); err != nil {
			return err
		}
	}
	return nil
}

// store is one of the three, as the Stack sees it.
type store struct {
	service Services
	name    string
	run     server
}

type server interface {
	start(ctx context.Context) error
	stop(ctx context.Context) error
	// died is closed when the store ended, asked for or not; nil while it was never up.
	died() <-chan struct{}
}

func (s *Stack) stores() []store {
	return []store{
		{Postgres, "PostgreSQL", s.postgres},
		{Redis, "Redis", s.redis},
		{Etcd, "etcd", s.etcd},
	}
}

func (s *Stack) start(ctx context.Context, st store) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.Has(st.service) {
		return fmt.Errorf("localstack: %s is already running", st.name)
	}
	if err := s.startLocked(ctx, st); err != nil {
		return err
	}
	s.started |= st.service
	return nil
}

func (s *Stack) startLocked(ctx context.Context, st store) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	if err := st.run.start(ctx); err != nil {
		if missing, ok := errors.AsType[*MissingError](err); ok {
			return missing
		}
		return fmt.Errorf("localstack: start %s: %w", st.name, err)
	}
	return nil
}

func (s *Stack) stop(ctx context.Context, st store) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started &^= st.service
	if err := st.run.stop(ctx); err != nil {
		return fmt.Errorf("localstack: stop %s: %w", st.name, err)
	}
	return nil
}

// Stop stops all stores, last started first, and gives the directory back. A store that does not stop by
// itself within 8 s, or before ctx ends, is killed.
func (s *Stack) Stop(ctx context.Context) error {
	var errs []error
	for _, st := range slices.Backward(s.stores()) {
		errs = append(errs, s.stop(ctx, st))
	}
	errs = append(errs, s.lock.release())
	return errors.Join(errs...)
}

// PostgresURL is the owner's URL of the database aisle over TCP. The owner may make roles and databases.
func (s *Stack) PostgresURL() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresOwner, s.postgres.password),
		Host:     s.ports.address(portPostgres),
		Path:     "/" + postgresDatabase,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// PostgresSocketURL is PostgresURL over the Unix socket: fewer system calls a query.
func (s *Stack) PostgresSocketURL() string {
	q := url.Values{"host": {s.postgres.socketDir}, "port": {strconv.Itoa(s.ports.get(portPostgres))}}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresOwner, s.postgres.password),
		Path:     "/" + postgresDatabase,
		RawQuery: q.Encode(),
	}
	return u.String()
}

// RedisURL is the URL of the Redis server, database 0.
func (s *Stack) RedisURL() string { return "redis://" + s.ports.address(portRedis) + "/0" }

// EtcdEndpoints are the client endpoints of the etcd, host:port with a scheme.
func (s *Stack) EtcdEndpoints() []string {
	return []string{"http://" + s.ports.address(portEtcdClient)}
}

// Running says whether all the given stores are up. One that died by itself is not, even before Watch sees it.
func (s *Stack) Running(services Services) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stores() {
		if services.Has(st.service) && (!s.started.Has(st.service) || isClosed(st.run.died())) {
			return false
		}
	}
	return true
}

// StopPostgres stops PostgreSQL (fast shutdown: open transactions are rolled back).
func (s *Stack) StopPostgres(ctx context.Context) error { return s.stop(ctx, s.stores()[0]) }

// StartPostgres starts PostgreSQL again, on the same port and data.
func (s *Stack) StartPostgres(ctx context.Context) error { return s.start(ctx, s.stores()[0]) }

// KillPostgres kills the postmaster as kill -9 does. StartPostgres recovers.
func (s *Stack) KillPostgres() error { return s.kill(Postgres, s.postgres.process) }

// StopRedis stops Redis; its data are gone.
func (s *Stack) StopRedis(ctx context.Context) error { return s.stop(ctx, s.stores()[1]) }

// StartRedis starts an empty Redis on the same port.
func (s *Stack) StartRedis(ctx context.Context) error { return s.start(ctx, s.stores()[1]) }

// KillRedis kills Redis as kill -9 does.
func (s *Stack) KillRedis() error { return s.kill(Redis, s.redis.process) }

// StopEtcd stops the etcd.
func (s *Stack) StopEtcd(ctx context.Context) error { return s.stop(ctx, s.stores()[2]) }

// StartEtcd starts the etcd again, on the same ports and data.
func (s *Stack) StartEtcd(ctx context.Context) error { return s.start(ctx, s.stores()[2]) }

func (s *Stack) kill(service Services, p func() *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started &^= service
	running := p()
	if running == nil {
		return errNotRunning
	}
	return running.kill()
}

var errNotRunning = errors.New("localstack: not running")

// removeStale removes what a killed run left half made.
func removeStale(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove what a killed run left: %w", err)
	}
	return nil
}
