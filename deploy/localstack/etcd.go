package localstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// etcdServer is the etcd of a Stack, inside this process. The Stack's mutex guards it.
type etcdServer struct {
	stack  *Stack
	dir    string
	server *embed.Etcd
	gone   chan struct{}
	log    *os.File
	once   bool // it has run since the Stack's start: clients know its ports, and its data are theirs
}

func (e *etcdServer) died() <-chan struct{} { return e.gone }

func (e *etcdServer) stop(context.Context) error {
	if e.server == nil {
		return nil
	}
	e.server.Close()
	e.server = nil
	return e.closeLog()
}

func (e *etcdServer) start(ctx context.Context) error {
	if !e.once {
		if err := removeStale(e.dir); err != nil {
			return err
		}
	}
	return e.tryPorts(ctx)
}

// tryPorts starts the server, a few times where its ports are taken in between.
func (e *etcdServer) tryPorts(ctx context.Context) error {
	var err error
	for range 5 {
		var cfg *embed.Config
		if cfg, err = e.config(ctx); err != nil {
			return err
		}
		if err = e.launch(ctx, cfg); err == nil {
			e.once = true
			return nil
		}
		err = errors.Join(err, e.closeLog())
		if pause(ctx, pollEvery) != nil {
			return err
		}
	}
	return err
}

func (e *etcdServer) closeLog() error {
	if err := e.log.Close(); err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	return nil
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
	go watchEtcd(server, e.gone, e.stack.cfg.Logger)
	return nil
}

// watchEtcd closes gone when the server ended, asked for or not.
func watchEtcd(server *embed.Etcd, gone chan<- struct{}, logger *slog.Logger) {
	defer close(gone)
	select {
	case <-server.Server.StopNotify():
	case err := <-server.Err():
		if err != nil {
			logger.Error("etcd ended by itself", slog.Any("error", err))
		}
	}
}

func (e *etcdServer) config(ctx context.Context) (*embed.Config, error) {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return nil, fmt.Errorf("etcd directory: %w", err)
	}
	client, err := e.listen(ctx, portEtcdClient)
	if err != nil {
		return nil, err
	}
	peer, err := e.listen(ctx, portEtcdPeer)
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
	cfg.UnsafeNoFsync = true // the data do not outlive us
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return cfg, nil
}

func (e *etcdServer) listen(ctx context.Context, name string) (url.URL, error) {
	if !e.once {
		if _, err := e.stack.ports.claim(ctx, name); err != nil {
			return url.URL{}, err
		}
	}
	return url.URL{Scheme: "http", Host: e.stack.ports.address(name)}, nil
}

// logger writes warnings and worse to a file of their own: etcd ends the process on a fatal error, and that
// must leave a trace.
func (e *etcdServer) logger() (*zap.Logger, error) {
	f, err := openLog(filepath.Join(e.stack.cfg.Dir, "etcd.log"))
	if err != nil {
		return nil, err
	}
	e.log = f
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(f), zap.WarnLevel)), nil
}
