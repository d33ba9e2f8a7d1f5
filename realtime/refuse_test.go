package realtime_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/realtime"
)

func TestMoreSocketsThanTheHubHolds(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{MaxSockets: 2})
	first := h.dial(t)
	h.dial(t)
	status, problem := h.refused(t)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "/problems/unavailable", problem)
	require.Equal(t, 1, h.counts.of(h.counts.refused, "full"))

	first.Close()
	require.Eventually(t, func() bool { return h.hub.Sockets() == 1 }, 5*time.Second, time.Millisecond)
	h.dial(t)
}

func TestMoreSocketsThanAnAddressMayHold(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{MaxSocketsPerAddress: 2})
	first := h.dial(t, "X-Address", "192.0.2.7")
	h.dial(t, "X-Address", "192.0.2.7")
	status, problem := h.refused(t, "X-Address", "192.0.2.7")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, "/problems/rate-limited", problem)
	require.Equal(t, 1, h.counts.of(h.counts.refused, "address"))

	h.dial(t, "X-Address", "192.0.2.8")
	for range 3 {
		h.dial(t) // No address, no limit.
	}
	first.Close()
	require.Eventually(t, func() bool { return h.hub.Sockets() == 5 }, 5*time.Second, time.Millisecond)
	h.dial(t, "X-Address", "192.0.2.7")
}

// A handshake that fails gives its place back.
func TestFailedHandshakeHoldsNoPlace(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{MaxSockets: 1, MaxSocketsPerAddress: 1})
	for range 3 {
		w := httptest.NewRecorder() // It can't be hijacked.
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live", nil)
		for key, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "X-Address": "192.0.2.7",
			"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
		} {
			r.Header.Set(key, value)
		}
		h.serve(w, r)
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.NotContains(t, w.Body.String(), "Hijack")
	}
	h.dial(t, "X-Address", "192.0.2.7")
}

func TestBeforeRunAndAfterIts503(t *testing.T) {
	t.Parallel()
	hub, err := realtime.NewHub(realtime.Config{}, newCinema())
	require.NoError(t, err)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	hub.Serve(w, r, realtime.Client{})
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "2", w.Header().Get("Retry-After"))

	h := open(t, realtime.Config{})
	h.hub.Drain(t.Context())
	status, problem := h.refused(t)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "/problems/unavailable", problem)
	require.Equal(t, 1, h.counts.of(h.counts.refused, "draining"))
	require.ErrorIs(t, h.hub.Run(t.Context()), realtime.ErrRunOnce)
}

func TestWhatIsNoHandshake(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	for name, c := range map[string]struct {
		method string
		header []string
		status int
		slug   string
	}{
		"a page's GET":         {http.MethodGet, nil, http.StatusUpgradeRequired, "upgrade-required"},
		"a POST":               {http.MethodPost, []string{"Connection", "Upgrade", "Upgrade", "websocket"}, http.StatusMethodNotAllowed, "malformed"},
		"an old version":       {http.MethodGet, []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "8"}, http.StatusBadRequest, "malformed"},
		"no key":               {http.MethodGet, []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"}, http.StatusBadRequest, "malformed"},
		"another subprotocol":  {http.MethodGet, []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Protocol", "aisle.v2"}, http.StatusBadRequest, "malformed"},
		"several, none of our": {http.MethodGet, []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Protocol", "chat, aisle.v2"}, http.StatusBadRequest, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/live", nil)
			r.Header = headers(c.header...)
			h.serve(w, r)
			require.Equal(t, c.status, w.Code)
			require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			var problem struct{ Type string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
			require.Equal(t, "/problems/"+c.slug, problem.Type)
			if c.status == http.StatusUpgradeRequired {
				require.Equal(t, "websocket", w.Header().Get("Upgrade"))
			}
		})
	}
}

func TestSubprotocolIsChosenFromSeveral(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.rawWith(t, &websocket.Dialer{Subprotocols: []string{"chat", "aisle.v1"}})
	require.Equal(t, "aisle.v1", c.ws.Subprotocol())
	// A client that names none, such as a command-line tool, is taken.
	silent := h.rawWith(t, &websocket.Dialer{})
	require.Empty(t, silent.ws.Subprotocol())
}

func TestSettingsThatCantBe(t *testing.T) {
	t.Parallel()
	_, err := realtime.NewHub(realtime.Config{
		MaxSockets: -1, QueueFrames: 1, IdleTimeout: -time.Second, AllowedOrigins: []string{"tickets.example", "https://a.example/"},
	}, newCinema())
	require.EqualError(t, err, `realtime: invalid settings: MaxSockets is -1, must be at least 1
QueueFrames is 1, must be at least 2
IdleTimeout is -1s, must be positive
AllowedOrigins has "tickets.example", must be scheme://host[:port]
AllowedOrigins has "https://a.example/", must be scheme://host[:port]`)
}
