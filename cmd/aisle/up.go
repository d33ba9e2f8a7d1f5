package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/localstack"
)

// stopStores bounds the stop of the stores. Together with the replicas' grace it stays below the 15 s that SIGTERM
// is given; a PostgreSQL that needs longer recovers at its next start.
const stopStores = 3 * time.Second

const maxReplicas = 64

type upCommand struct {
	Listen    string `name:"listen" env:"AISLE_LISTEN" default:"127.0.0.1:8080" help:"Public address and port of the first server; each further one takes the next port."`
	OpsListen string `name:"ops-listen" env:"AISLE_OPS_LISTEN" default:"127.0.0.1:9090" help:"Address and port of the first server's health checks and metrics; each further one takes the next port. Never make it public."`
	Data      string `name:"data" env:"AISLE_DATA" default:"${data}" help:"Directory of all data; back it up (see docs/operating.md). As root, PostgreSQL runs as the user postgres, who must be able to reach it."`
	Replicas  int    `name:"replicas" env:"AISLE_REPLICAS" default:"1" help:"Servers to run (servers, 1 to 64)."`
	Demo      bool   `name:"demo" env:"AISLE_DEMO" help:"Make a demo cinema, once; it is never reset. Default: off."`
	LogLevel  string `name:"log-level" env:"AISLE_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least important kind of log line to write: debug, info, warn or error."`
}

// Help is what --help adds.
func (*upCommand) Help() string {
	return "The servers are started as 'aisle serve' and take all its other settings from the environment, " +
		"such as AISLE_HOLD_FOR=15m."
}

// defaultData is a place that PostgreSQL's user can reach when we are root.
func defaultData() string {
	if os.Geteuid() == 0 {
		return "/var/lib/aisle"
	}
	return ".aisle"
}

// Validate is called by kong.
func (c *upCommand) Validate() error {
	if c.Data == "" {
		return errors.New("--data wants a directory")
	}
	if c.Replicas < 1 || c.Replicas > maxReplicas {
		return fmt.Errorf("--replicas must be between 1 and %d, not %d", maxReplicas, c.Replicas)
	}
	public, err := addresses("--listen", c.Listen, c.Replicas)
	if err != nil {
		return err
	}
	private, err := addresses("--ops-listen", c.OpsListen, c.Replicas)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, a := range append(public, private...) {
		if seen[a] && !strings.HasSuffix(a, ":0") {
			return fmt.Errorf("--listen and --ops-listen both want %s", a)
		}
		seen[a] = true
	}
	return nil
}

// addresses are the n addresses from the first one on. Port 0, any free one, stays 0.
func addresses(flag, first string, n int) ([]string, error) {
	host, text, err := net.SplitHostPort(first)
	if err != nil {
		return nil, fmt.Errorf("%s wants ADDRESS:PORT, not %q", flag, first)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s wants a port between 0 and 65535, not %q", flag, text)
	}
	if int(port)+n-1 > 65535 {
		return nil, fmt.Errorf("%s: there are no %d ports from %d on", flag, n, port)
	}
	all := make([]string, n)
	for i := range all {
		if port != 0 {
			text = strconv.Itoa(int(port) + i)
		}
		all[i] = net.JoinHostPort(host, text)
	}
	return all, nil
}

// Run is the command; kong calls it. It supervises: it owns the stores, and starts a replica that died again.
func (c *upCommand) Run(ctx context.Context) (err error) {
	logger, err := newLogger(c.LogLevel)
	if err != nil {
		return err
	}
	family := newFamily(filepath.Join(c.Data, "children.json"))
	logger.InfoContext(ctx, "starting PostgreSQL, Redis and etcd", slog.String("data", c.Data))
	stack, err := localstack.Start(ctx, localstack.Config{Dir: c.Data, Logger: logger, Locked: family.endLeftovers})
	if err != nil {
		return ignoreStop(ctx, err)
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopStores)
		defer cancel()
		err = errors.Join(err, stack.Stop(stopping))
	}()
	appURL, err := prepareDatabase(ctx, stack.PostgresSocketURL(), c.Demo, logger)
	if err != nil {
		return ignoreStop(ctx, err)
	}
	return c.supervise(ctx, logger, family, stack, appURL)
}

func (c *upCommand) supervise(ctx context.Context, logger *slog.Logger, family *family, stack *localstack.Stack, appURL *url.URL) error {
	replicas, err := c.replicas(stack, appURL)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		stack.Watch(ctx)
		return nil
	})
	for _, r := range replicas {
		r.family, r.logger = family, logger.With(slog.Int("server", r.number))
		group.Go(func() error { return r.keep(ctx) })
	}
	return group.Wait()
}

// replicas are the servers and their settings, which they read from the environment.
func (c *upCommand) replicas(stack *localstack.Stack, appURL *url.URL) ([]*replica, error) {
	public, err := addresses("--listen", c.Listen, c.Replicas)
	if err != nil {
		return nil, err
	}
	private, err := addresses("--ops-listen", c.OpsListen, c.Replicas)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("where this program lies: %w", err)
	}
	all := make([]*replica, c.Replicas)
	for i := range all {
		all[i] = &replica{number: i + 1, program: program, settings: []string{
			"AISLE_LISTEN=" + public[i],
			"AISLE_OPS_LISTEN=" + private[i],
			"AISLE_ADVERTISE=", // one setting can't be right for all of them
			"AISLE_POSTGRES_URL=" + appURL.String(),
			"AISLE_REDIS_URL=" + stack.RedisURL(),
			"AISLE_ETCD_ENDPOINTS=" + strings.Join(stack.EtcdEndpoints(), ","),
			"AISLE_LOG_LEVEL=" + c.LogLevel,
		}}
	}
	return all, nil
}

// ignoreStop drops an error that only says that we were asked to stop while starting.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
