package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

// socket is a client's end of the live socket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// dial opens a socket, or gives the answer that refuses it.
func (s *site) dial(headers ...string) (*socket, reply) {
	s.t.Helper()
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	dialer := websocket.Dialer{Subprotocols: []string{"aisle.v1"}, HandshakeTimeout: time.Minute}
	conn, answer, err := dialer.DialContext(s.t.Context(), "ws"+strings.TrimPrefix(s.server.URL, "http")+"/api/v1/live", h)
	require.NotNil(s.t, answer, "%v", err)
	_ = answer.Body.Close() // the handshake's own; the socket goes on
	refusal := reply{t: s.t, status: answer.StatusCode, header: answer.Header}
	if err != nil {
		return nil, refusal
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return &socket{t: s.t, conn: conn}, refusal
}

func (k *socket) send(message map[string]any) {
	k.t.Helper()
	require.NoError(k.t, k.conn.WriteJSON(message))
}

// next is the next message of a type; others before it are left out.
func (k *socket) next(kind string) map[string]any {
	k.t.Helper()
	require.NoError(k.t, k.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	for {
		_, raw, err := k.conn.ReadMessage()
		require.NoError(k.t, err, "waiting for %s", kind)
		message := map[string]any{}
		require.NoError(k.t, json.Unmarshal(raw, &message))
		if message["type"] == kind {
			return message
		}
	}
}

func TestTheLiveSocket(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	watcher, answer := s.dial()
	require.Equal(t, http.StatusSwitchingProtocols, answer.status)
	require.Equal(t, "aisle.v1", watcher.conn.Subprotocol())
	watcher.send(map[string]any{"type": "subscribe", "showing": s.showings.open})
	snapshot := watcher.next("snapshot")
	require.EqualValues(t, 1, snapshot["seq"])

	me := s.customer()
	mine, _ := s.dial("Authorization", "Bearer "+me.token)
	mine.send(map[string]any{"type": "subscribe", "showing": s.showings.open})
	mine.next("snapshot")
	held := me.do(http.MethodPost, s.bookingsPath(), wanted("A1"))
	require.Equal(t, 201, held.status)
	delta := watcher.next("delta")
	require.Equal(t, map[string]any{"A1": "held"}, delta["seats"])
	require.EqualValues(t, 3, delta["seq"])

	told, _ := mine.next("booking")["booking"].(map[string]any)
	require.Equal(t, held.body["id"], told["id"])
	for member := range held.body {
		require.Contains(t, told, member, "the same shape as over HTTP")
	}
	require.Len(t, told, len(held.body))
	require.Eventually(t, func() bool {
		return strings.Contains(s.log.String(), `"route":"/api/v1/live","status":101`)
	}, time.Minute, 10*time.Millisecond)
}

// Whose bookings a socket carries: a Bearer token's always, a cookie's only when a page we allow asks.
func TestWhoASocketSpeaksFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.api.AllowedOrigins = []string{"https://www.example.org"} })
	own := s.server.URL
	carries := func(headers ...string) bool {
		t.Helper()
		me := s.customer()
		for i := range headers {
			headers[i] = strings.ReplaceAll(headers[i], "TOKEN", me.token)
		}
		k, answer := s.dial(headers...)
		require.NotNil(t, k, "%d", answer.status)
		k.send(map[string]any{"type": "ping"})
		k.next("pong") // by now the hub has it
		return slices.Contains(s.hub.Sessions(), uuid.MustParse(me.id))
	}
	require.True(t, carries("Authorization", "Bearer TOKEN"))
	require.True(t, carries("Authorization", "Bearer TOKEN", "Origin", own))
	require.True(t, carries("Cookie", "aisle_session=TOKEN", "Origin", own))
	require.True(t, carries("Cookie", "aisle_session=TOKEN", "Origin", "https://www.example.org"))
	require.False(t, carries("Cookie", "aisle_session=TOKEN"), "no Origin: no cookies")
	require.False(t, carries("Cookie", "aisle_session=unknown", "Origin", own), "seeing seats needs no session")
	require.False(t, carries("Origin", own))

	me := s.customer()
	for _, origin := range []string{"https://evil.example", "null", "", "https://www.example.org.evil.example"} {
		k, answer := s.dial("Cookie", "aisle_session="+me.token, "Origin", origin)
		require.Nil(t, k, origin)
		require.Equal(t, http.StatusForbidden, answer.status, origin)
		require.Equal(t, "application/problem+json", answer.header.Get("Content-Type"))
	}
	k, answer := s.dial("Authorization", "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	require.Nil(t, k)
	require.Equal(t, http.StatusUnauthorized, answer.status)
	r := s.do(http.MethodGet, "/api/v1/live", "").problem(426, "upgrade-required")
	require.Equal(t, "websocket", r.header.Get("Upgrade"))
}

// Logout closes the session's sockets: on the replica that hears of it at once, on others within seconds.
func TestLogoutClosesTheSockets(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.auth.RecheckEvery = 20 * time.Millisecond })
	s.background(func(ctx context.Context) error { return s.sessions.Run(ctx, s.hub.Sessions, s.hub.EndSession) })
	me, other := s.customer(), s.customer()
	mine, _ := s.dial("Authorization", "Bearer "+me.token)
	theirs, _ := s.dial("Authorization", "Bearer "+other.token)
	require.Equal(t, 204, me.do(http.MethodDelete, "/sessions/current", "").status)
	require.Equal(t, "session-ended", mine.next("bye")["reason"])

	// As if another replica had ended it.
	_, err := s.pool.Exec(t.Context(),
		`UPDATE sessions SET ended_at = clock_timestamp(), ended_key = 'k' WHERE id = $1`, uuid.MustParse(other.id))
	require.NoError(t, err)
	require.Equal(t, "session-ended", theirs.next("bye")["reason"])
}

// Without the database the map is still live for whoever comes, with or without a cookie that can't be judged.
func TestSocketsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Postgres)
	s := newSite(t, func(set *settings) { set.postgres, set.stale = stack.PostgresURL(), 300*time.Millisecond })
	first, _ := s.dial()
	first.send(map[string]any{"type": "subscribe", "showing": s.showings.open})
	first.next("snapshot")
	require.NoError(t, stack.StopPostgres(t.Context()))
	require.Equal(t, true, first.next("stale")["stale"])

	unknown := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	late, _ := s.dial("Cookie", "aisle_session="+unknown, "Origin", s.server.URL)
	require.NotNil(t, late)
	late.send(map[string]any{"type": "subscribe", "showing": s.showings.open})
	require.Equal(t, true, late.next("snapshot")["stale"])
	refused, answer := s.dial("Authorization", "Bearer "+unknown)
	require.Nil(t, refused)
	require.Equal(t, http.StatusServiceUnavailable, answer.status)
	answer.retryAfter()
}
