package lock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/lock"
)

// The reply to a script is lost after it ran, and the client itself runs it again: it counts once.
func TestLostReplyIsRetriedAndCountsOnce(t *testing.T) {
	t.Parallel()
	address, prefix := stacktest.Redis(t)
	options, err := redis.ParseURL(address)
	require.NoError(t, err)
	var lose atomic.Bool
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &lossyConn{Conn: conn, lose: &lose}, err
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r := rigOn(t, client, lock.Config{Prefix: prefix, Timeout: patience})
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()

	_, err = r.Acquire(t.Context(), want(showing, ann, "warm", "Z1"))
	require.NoError(t, err)
	lose.Store(true)
	_, err = r.Acquire(t.Context(), want(showing, ann, "key", "A1"))
	require.NoError(t, err)
	require.False(t, lose.Load(), "a reply was lost")
	require.NoError(t, r.Release(t.Context(), showing, ann, "key", []string{"A1"}))
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	require.NoError(t, err)
}

// lossyConn loses one reply: it reads it, and the connection ends.
type lossyConn struct {
	net.Conn
	lose *atomic.Bool
}

func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.lose.CompareAndSwap(true, false) {
		return 0, errors.Join(io.EOF, c.Close())
	}
	return n, err
}

// The link tears after the script ran and before its reply is through. The caller hears ErrUnavailable, asks
// again with the same id when the link is back, and it counts once.
func TestTornLinkAndAskedAgainCountsOnce(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "warm", "Z1"))
	require.NoError(t, err)

	addToxic(t, proxy, "limit_data", `{"bytes": 1}`)
	_, err = r.Acquire(t.Context(), want(showing, ann, "key", "A1"))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	address, _ := stacktest.Redis(t)
	direct := newRig(t, address, r.cfg.Prefix)
	require.Equal(t, ann, direct.owners(t.Context(), t, showing)["A1"], "it ran all the same")

	require.NoError(t, proxy.Toxics.RemoveToxic(t.Context(), "limit_data"))
	require.Eventually(t, func() bool {
		_, err := r.Acquire(t.Context(), want(showing, ann, "key", "A1"))
		return err == nil
	}, patience, 10*time.Millisecond)
	require.NoError(t, r.Release(t.Context(), showing, ann, "key", []string{"A1"}))
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	require.NoError(t, err)
}

// A server that takes requests and never answers costs a few callers the timeout, and the rest nothing.
func TestHangingServerFailsFast(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	showing, ann := uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)

	addToxic(t, proxy, "timeout", `{"timeout": 0}`)
	start := time.Now()
	for range 1000 {
		_, err := r.Renew(t.Context(), want(showing, ann, "", "A1"))
		require.ErrorIs(t, err, lock.ErrUnavailable)
	}
	require.Less(t, time.Since(start), 8*r.cfg.Timeout, "a thousand calls waited for no more than a few timeouts")

	require.NoError(t, proxy.Toxics.RemoveToxic(t.Context(), "timeout"))
	require.Eventually(t, func() bool {
		_, err := r.Renew(t.Context(), want(showing, ann, "", "A1"))
		return err == nil
	}, patience, 10*time.Millisecond, "a probe finds out that it is back")
}

func TestServerDownFailsFastAndRestartsEmpty(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Redis)
	client, err := lock.NewClient(stack.RedisURL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r := rigOn(t, client, lock.Config{ProbeEvery: 50 * time.Millisecond})
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	_, err = r.Acquire(t.Context(), want(showing, ann, "1", "A1", "A2"))
	require.NoError(t, err)

	require.NoError(t, stack.KillRedis())
	start := time.Now()
	for range 1000 {
		_, err := r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
		require.ErrorIs(t, err, lock.ErrUnavailable)
	}
	require.Less(t, time.Since(start), 3*time.Second)

	require.NoError(t, stack.StartRedis(t.Context()))
	require.NoError(t, client.FlushAll(t.Context()).Err(), "whatever the server had saved")
	var renewed error
	require.Eventually(t, func() bool {
		_, renewed = r.Renew(t.Context(), want(showing, ann, "", "A1", "A2"))
		return !errors.Is(renewed, lock.ErrUnavailable)
	}, patience, 10*time.Millisecond)
	require.ErrorIs(t, renewed, lock.ErrNotHeld)
	require.ErrorIs(t, r.Release(t.Context(), showing, ann, "1", []string{"A1", "A2"}), lock.ErrNotHeld)
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	require.NoError(t, err)
}

// A Redis that was never there is no reason not to start, and is found when it comes.
func TestStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/aisle", "redis+cluster://127.0.0.1:1,127.0.0.1:2",
	} {
		client, err := lock.NewClient(address)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		r := rigOn(t, client, lock.Config{})
		start := time.Now()
		for range 100 {
			_, err = r.Acquire(t.Context(), want(uuid.New(), uuid.New(), "1", "A1"))
			require.ErrorIs(t, err, lock.ErrUnavailable)
		}
		require.Less(t, time.Since(start), 5*time.Second, address)
	}
}

func TestCallersContextEndsTheCall(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	addToxic(t, proxy, "timeout", `{"timeout": 0}`)
	gone := errors.New("the customer left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err := r.Acquire(ctx, want(uuid.New(), uuid.New(), "1", "A1"))
	require.ErrorIs(t, err, gone)
	require.NotErrorIs(t, err, lock.ErrUnavailable)
}

// behindProxy is a rig, with the default timeout, whose link to Redis can be slowed, torn and mended.
func behindProxy(t *testing.T) (*rig, *toxiproxy.Proxy) {
	t.Helper()
	address, prefix := stacktest.Redis(t)
	upstream, err := url.Parse(address)
	require.NoError(t, err)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "redis", "127.0.0.1:0", upstream.Host)
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	client, err := lock.NewClient("redis://" + proxy.Listen)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	cfg := lock.Config{Prefix: prefix, ProbeEvery: 50 * time.Millisecond}.WithDefaults()
	return rigOn(t, client, cfg), proxy
}

// addToxic spoils the way back from the server, for connections there are and those to come. Its name is its kind.
func addToxic(t *testing.T, proxy *toxiproxy.Proxy, kind, attributes string) {
	t.Helper()
	_, err := proxy.Toxics.AddToxicJson(strings.NewReader(
		`{"name": "` + kind + `", "type": "` + kind + `", "stream": "downstream", "toxicity": 1, "attributes": ` + attributes + `}`))
	require.NoError(t, err)
}
