package coord_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/aislehq/aisle/coord"
	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m, localstack.Etcd)) }

const (
	// patience is how long a test waits for what must come: the machine may be busy.
	patience = 30 * time.Second
	// soon is far below longTTL: what comes within it did not wait for a lease to end.
	soon    = 10 * time.Second
	longTTL = 60 * time.Second
	tick    = 5 * time.Millisecond
)

// replica is a Coord that runs until stop, or the test's end.
type replica struct {
	*coord.Coord
	stop func()
}

func start(t *testing.T, cfg coord.Config) *replica {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := coord.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	r := &replica{Coord: c, stop: func() {
		cancel()
		running.Wait()
	}}
	t.Cleanup(r.stop)
	return r
}

// config is for a replica on the shared etcd, or on another one.
func config(t *testing.T, id string) coord.Config {
	t.Helper()
	endpoints, prefix := stacktest.Etcd(t)
	return coord.Config{Endpoints: endpoints, Prefix: prefix, ID: id, TTL: longTTL}
}

// named is the same place in etcd for another replica.
func named(cfg coord.Config, id string) coord.Config {
	cfg.ID = id
	return cfg
}

// etcd is a client of the test's own.
func etcd(t *testing.T, endpoints []string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), DialTimeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// keys are what there is in etcd under a prefix.
func keys(t *testing.T, client *clientv3.Client, prefix string) []string {
	t.Helper()
	answer, err := client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	names := []string{}
	for _, kv := range answer.Kvs {
		names = append(names, strings.TrimPrefix(string(kv.Key), prefix))
	}
	return names
}

// term is one call of lead, which lasts until the term's context ends or the test says so.
type term struct {
	coord.Term
	ctx context.Context //nolint:containedctx // what lead was given, for the test to look at.
	// leave has lead return.
	leave chan error
	// ended is closed when lead returns.
	ended chan struct{}
}

// candidate runs for an office and hands each term won to the test.
func (r *replica) candidate(t *testing.T, office string) (terms <-chan *term, resign func()) {
	t.Helper()
	won := make(chan *term, 100)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		err := r.Elect(ctx, office, func(ctx context.Context, held coord.Term) error {
			now := &term{Term: held, ctx: ctx, leave: make(chan error), ended: make(chan struct{})}
			defer close(now.ended)
			won <- now
			select {
			case <-ctx.Done():
				return ctx.Err()
			case err := <-now.leave:
				return err
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	resign = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(resign)
	return won, resign
}

// next is the next term, or the test's end.
func next(t *testing.T, terms <-chan *term, within time.Duration) *term {
	t.Helper()
	select {
	case won := <-terms:
		return won
	case <-time.After(within):
		require.FailNow(t, "nobody was elected in time")
		return nil
	}
}

// over waits for a channel to be closed.
func over(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, what+" did not end")
	}
}

// behindProxy puts a link between a replica and etcd that can be cut and mended.
func behindProxy(t *testing.T, endpoint string) *toxiproxy.Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "etcd", "127.0.0.1:0", strings.TrimPrefix(endpoint, "http://"))
	require.NoError(t, proxy.Start())
	t.Cleanup(func() {
		mend(t, proxy) // a link that is stopped while something spoils it never ends
		proxy.Stop()
	})
	return proxy
}

// cut lets nothing through in either direction, without closing a connection; mend takes that back.
func cut(t *testing.T, proxy *toxiproxy.Proxy) {
	t.Helper()
	for _, stream := range []string{"upstream", "downstream"} {
		_, err := proxy.Toxics.AddToxicJson(strings.NewReader(
			`{"name": "` + stream + `", "type": "timeout", "stream": "` + stream + `", "toxicity": 1, "attributes": {"timeout": 0}}`))
		require.NoError(t, err)
	}
}

func mend(t *testing.T, proxy *toxiproxy.Proxy) {
	t.Helper()
	proxy.Toxics.ResetToxics(context.WithoutCancel(t.Context()))
}
