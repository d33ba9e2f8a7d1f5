package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

type (
	client          = realtimetest.Client
	realtimetestMap = realtimetest.Map
)

func TestMain(m *testing.M) {
	if address := os.Getenv(crowdVariable); address != "" {
		os.Exit(crowd(address))
	}
	goleak.VerifyTestMain(m)
}

// house is a running hub behind a real server.
type house struct {
	*cinema
	hub    *realtime.Hub
	url    string
	counts *counts
	stop   func()
}

// counts is what the hub's metrics were told.
type counts struct {
	mu      sync.Mutex
	closed  map[string]int
	refused map[string]int
	frames  map[string]int
	dropped int
	opened  int
	// slow is closed when messages are dropped for the first time.
	slow     chan struct{}
	slowOnce sync.Once
}

func newCounts() *counts {
	return &counts{
		closed: map[string]int{}, refused: map[string]int{}, frames: map[string]int{}, slow: make(chan struct{}),
	}
}

func (c *counts) metrics() realtime.Metrics {
	add := func(to map[string]int) func(string) {
		return func(key string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			to[key]++
		}
	}
	return realtime.Metrics{
		Opened:  func() { c.mu.Lock(); defer c.mu.Unlock(); c.opened++ },
		Closed:  add(c.closed),
		Refused: add(c.refused),
		Frames: func(kind string, n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.frames[kind] += n
		},
		Dropped: func(n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.dropped += n
			c.slowOnce.Do(func() { close(c.slow) })
		},
	}
}

func (c *counts) of(which map[string]int, key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return which[key]
}

// sendBuffer is small, so that a client that stops reading is noticed soon.
const sendBuffer = 4096

// open starts a hub and its server, which end with the test. A session is what the X-Session
// header says, unless it comes by cookie and no Origin: what the API does.
func open(t testing.TB, cfg realtime.Config) *house {
	t.Helper()
	h := &house{cinema: newCinema(), counts: newCounts()}
	cfg.Logger = slog.New(slog.DiscardHandler)
	own := cfg.Metrics
	cfg.Metrics = h.counts.metrics()
	if own.Broadcast != nil {
		cfg.Metrics.Broadcast = own.Broadcast
	}
	if own.Frames != nil {
		cfg.Metrics.Frames = own.Frames
	}
	hub, err := realtime.NewHub(cfg, h.cinema)
	require.NoError(t, err)
	h.hub = hub
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	<-hub.Ready()

	server := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(sendBuffer)
		return ctx
	}
	server.Start()
	h.url = "ws" + strings.TrimPrefix(server.URL, "http")
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
			server.Close()
		})
	}
	t.Cleanup(h.stop)
	return h
}

func (h *house) serve(w http.ResponseWriter, r *http.Request) {
	session, _ := uuid.Parse(r.Header.Get("X-Session"))
	if cookie, err := r.Cookie("session"); err == nil && realtime.HasOrigin(r) {
		session, _ = uuid.Parse(cookie.Value)
	}
	h.hub.Serve(w, r, realtime.Client{Session: session, Address: r.Header.Get("X-Address")})
}

// dial opens a socket that ends with the test.
func (h *house) dial(t *testing.T, header ...string) *client {
	t.Helper()
	return h.dialWith(t, realtimetest.Options{Header: headers(header...)})
}

func (h *house) dialWith(t *testing.T, opts realtimetest.Options) *client {
	t.Helper()
	c, err := realtimetest.Dial(t.Context(), h.url, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// watch opens a socket that has the map of a showing.
func (h *house) watch(t *testing.T, s *source) *client {
	t.Helper()
	c := h.dial(t)
	require.NoError(t, c.Subscribe(s.showing))
	_, err := c.WaitSeq(t.Context(), s.showing, 0)
	require.NoError(t, err)
	return c
}

// refused is the status and the problem that a dial is answered with.
func (h *house) refused(t *testing.T, header ...string) (int, string) {
	t.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), h.url, headers(header...))
	if err == nil {
		_ = ws.Close()
	}
	require.ErrorIs(t, err, websocket.ErrBadHandshake)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	var problem struct {
		Type, Title, Detail string
		Status              int
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&problem))
	require.Equal(t, resp.StatusCode, problem.Status)
	require.NotEmpty(t, problem.Title)
	require.NotEmpty(t, problem.Detail)
	if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests {
		require.NotEmpty(t, resp.Header.Get("Retry-After"))
	}
	return resp.StatusCode, problem.Type
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// raw is a socket without a client: what goes over the wire, message by message.
type raw struct {
	t  *testing.T
	ws *websocket.Conn
}

func (h *house) raw(t *testing.T, header ...string) raw {
	t.Helper()
	return h.rawWith(t, &websocket.Dialer{Subprotocols: []string{"aisle.v1"}}, header...)
}

func (h *house) rawWith(t *testing.T, dialer *websocket.Dialer, header ...string) raw {
	t.Helper()
	ws, resp, err := dialer.DialContext(t.Context(), h.url, headers(header...))
	require.NoError(t, err)
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = ws.Close() })
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(time.Minute)))
	return raw{t: t, ws: ws}
}

func (r raw) send(format string, args ...any) {
	r.t.Helper()
	require.NoError(r.t, r.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)))
}

// next is the next message, as it came.
func (r raw) next() string {
	r.t.Helper()
	kind, data, err := r.ws.ReadMessage()
	require.NoError(r.t, err)
	require.Equal(r.t, websocket.TextMessage, kind)
	return string(data)
}

func (r raw) wants(format string, args ...any) {
	r.t.Helper()
	require.JSONEq(r.t, fmt.Sprintf(format, args...), r.next())
}

// wantsError wants an error message with this code, whatever its detail.
func (r raw) wantsError(code string) {
	r.t.Helper()
	var m struct{ Type, Code, Detail string }
	require.NoError(r.t, json.Unmarshal([]byte(r.next()), &m))
	require.Equal(r.t, "error", m.Type)
	require.Equal(r.t, code, m.Code)
	require.NotEmpty(r.t, m.Detail)
}

// wantsClose wants nothing more but the close frame, and after it the end of the line.
func (r raw) wantsClose(code int) {
	r.t.Helper()
	_, data, err := r.ws.ReadMessage()
	var closed *websocket.CloseError
	require.ErrorAsf(r.t, err, &closed, "want a close frame, got %q", data)
	require.Equal(r.t, code, closed.Code)
	one := make([]byte, 1)
	_, err = r.ws.NetConn().Read(one)
	require.Error(r.t, err, "the server hangs up")
}
