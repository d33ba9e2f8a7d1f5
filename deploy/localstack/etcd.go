package localstack

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// etcdServer is the etcd of a Stack, inside this process. The Stack's mutex guards it.
type etcdServer struct {
	stack  *Stack
	dir    string
	server *embed.Etcd
	gone   chan struct{}
	once   bool // it has run since Start: its data are good, and clients know its ports
}

func (e *etcdServer) died() <-chan struct{} { return e.gone }

func (e *etcdServer) stop(context.Context) error {
	if e.server == nil {
		return nil
	}
	e.server.Close()
	e.server = nil
	return nil
}

func (e *etcdServer) start(ctx context.Context) error {
	err := e.tryPorts(ctx)
	if err == nil || e.once || ctx.Err() != nil {
		return err
	}
	// Nothing in it outlives a lease, and Redis started empty with us: new is as good as mended.
	e.stack.cfg.Logger.WarnContext(ctx, "etcd does not start from its data: they are made anew", "error", err)
	if err := removeStale(e.dir); err != nil {
		return err
	}
	return e.tryPorts(ctx)
}

// tryPorts starts the server, a few times where its ports are taken in between.
func (e *etcdServer) tryPorts(ctx context.Context) error {
	var err error
	for range 5 {
		var cfg *embed.Config
		if cfg, err = e.config(); err != nil {
			return err
		}
		if err = e.launch(ctx, cfg); err == nil {
			e.once = true
			return nil
		}
		if pause(ctx, pollEvery) != nil {
			return err
		}
	}
	return err
}

func (e *etcdServer) launch(ctx context.Context, cfg *embed.Config) error {
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("embedded etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return fmt.Errorf("embedded etcd: %w", err)
	case <-ctx.Done():
		server.Close()
		return fmt.Errorf("embedded etcd is not ready: %w", ctx.Err())
	}
	e.server, e.gone = server, make(chan struct{})
	go watchEtcd(server, e.gone)
	return nil
}

// watchEtcd closes gone when the server ended, asked for or not.
func watchEtcd(server *embed.Etcd, gone chan<- struct{}) {
	defer close(gone)
	select {
	case <-server.Server.StopNotify():
	case <-server.Err():
	}
}

func (e *etcdServer) config() (*embed.Config, error) {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return nil, fmt.Errorf("etcd directory: %w", err)
	}
	client, err := e.listen(portEtcdClient)
	if err != nil {
		return nil, err
	}
	peer, err := e.listen(portEtcdPeer)
	if err != nil {
		return nil, err
	}
	logger, err := e.logger()
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = "aisle", e.dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	// The peer address is only read when the data are new; there is no second member to know it.
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, "10m"
	cfg.UnsafeNoFsync = e.stack.cfg.Volatile
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return cfg, nil
}

func (e *etcdServer) listen(name string) (url.URL, error) {
	if !e.once {
		if _, err := e.stack.ports.claim(name); err != nil {
			return url.URL{}, err
		}
	}
	return url.URL{Scheme: "http", Host: e.stack.ports.address(name)}, nil
}

// logger writes warnings and worse to a file of their own: etcd ends the process on a fatal error, and that
// must leave a trace.
func (e *etcdServer) logger() (*zap.Logger, error) {
	path := filepath.Join(e.stack.cfg.Dir, "etcd.log")
	f, err := openLog(path) // puts a big one aside
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	cfg := zap.NewProductionConfig()
	cfg.Level = zap.NewAtomicLevelAt(zap.WarnLevel)
	cfg.OutputPaths, cfg.ErrorOutputPaths = []string{path}, []string{path}
	logger, err := cfg.Build()
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	return logger, nil
}

