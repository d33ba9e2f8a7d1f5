package realtime_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

// A server shuts down under thousands of sockets: each is told when to come back, no two at the
// same time, and all are closed before it ends.
func TestDrainSpreadsOutTheReconnects(t *testing.T) {
	t.Parallel()
	const sockets = 2500
	h := open(t, realtime.Config{DrainTimeout: time.Minute, GoodbyeTimeout: time.Minute})
	s := h.add(10)
	clients := make([]*client, sockets)
	var dials errgroup.Group
	dials.SetLimit(32)
	for i := range clients {
		dials.Go(func() error {
			c, err := realtimetest.Dial(t.Context(), h.url, realtimetest.Options{})
			if err != nil {
				return err
			}
			clients[i] = c
			if err := c.Subscribe(s.showing); err != nil {
				return err
			}
			_, err = c.WaitSeq(t.Context(), s.showing, 1)
			return err
		})
	}
	require.NoError(t, dials.Wait())
	require.Equal(t, sockets, h.hub.Sockets())

	began := time.Now()
	h.stop()
	require.Less(t, time.Since(began), time.Minute, "all hung up by themselves, nobody was cut off")
	require.Zero(t, h.hub.Sockets())
	delays := make(map[time.Duration]bool, sockets)
	for _, c := range clients {
		bye, said, err := c.WaitBye(t.Context())
		require.NoError(t, err)
		require.True(t, said)
		require.Equal(t, "draining", bye.Reason)
		require.Positive(t, bye.RetryAfter)
		require.LessOrEqual(t, bye.RetryAfter, 2500*time.Millisecond, "2,500 sockets at 1,000 a second")
		delays[bye.RetryAfter] = true
		require.True(t, websocket.IsCloseError(c.Err(), websocket.CloseGoingAway), c.Err())
	}
	require.Len(t, delays, sockets, "each has a time of its own")
	require.Equal(t, sockets, h.counts.of(h.counts.closed, "draining"))
}

// Those who don't hang up are cut off in time.
func TestDrainEndsInTime(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{DrainTimeout: 200 * time.Millisecond, GoodbyeTimeout: time.Hour})
	c := h.raw(t) // It does not read.
	h.stop()
	require.Zero(t, h.hub.Sockets())
	c.wants(`{"type":"bye","reason":"draining","retry_after_ms":1000}`)
	c.wantsClose(1001)
}

func TestBookingsGoToTheirSessionAlone(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	mine, other := uuid.New(), uuid.New()
	first, second := h.raw(t, "X-Session", mine.String()), h.raw(t, "X-Session", mine.String())
	stranger, nobody := h.raw(t, "X-Session", other.String()), h.raw(t)
	require.ElementsMatch(t, []uuid.UUID{mine, other}, h.hub.Sessions())

	h.hub.SendBooking(mine, json.RawMessage(`{"id":"b1","state":"held"}`))
	h.hub.SendBooking(mine, json.RawMessage(`{"id":`)) // Not JSON: nothing is sent.
	h.hub.SendBooking(uuid.New(), json.RawMessage(`{"id":"b2"}`))
	h.hub.SendBooking(uuid.Nil, json.RawMessage(`{"id":"b3"}`))
	for _, c := range []raw{first, second} {
		c.wants(`{"type":"booking","booking":{"id":"b1","state":"held"}}`)
	}
	for _, c := range []raw{first, second, stranger, nobody} {
		c.send(`{"type":"ping"}`)
		c.wants(`{"type":"pong"}`)
	}
}

// A browser's cookie counts; a cookie that comes without an Origin does not say on whose behalf.
func TestCookieWithoutOriginIsNobodysSession(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{AllowedOrigins: []string{"https://tickets.example"}})
	session := uuid.New()
	h.raw(t, "Cookie", "session="+session.String())
	require.Empty(t, h.hub.Sessions())
	h.raw(t, "Cookie", "session="+session.String(), "Origin", "https://tickets.example")
	require.Equal(t, []uuid.UUID{session}, h.hub.Sessions())
}

// Logout: all sockets of that session close, on every showing, and no others.
func TestEndedSessionsSocketsClose(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	mine := uuid.New()
	sockets := []raw{h.raw(t, "X-Session", mine.String()), h.raw(t, "X-Session", mine.String())}
	other := h.raw(t, "X-Session", uuid.NewString())
	for _, c := range append(sockets, other) {
		c.send(`{"type":"subscribe","showing":%q}`, s.showing)
		c.next()
	}
	h.hub.EndSession(uuid.New())
	h.hub.EndSession(mine)
	for _, c := range sockets {
		c.wants(`{"type":"bye","reason":"session-ended","retry_after_ms":0}`)
		c.wantsClose(realtime.CloseSessionEnded)
		require.NoError(t, c.ws.Close())
	}
	require.Eventually(t, func() bool { return h.hub.Sockets() == 1 && len(h.hub.Sessions()) == 1 }, 5*time.Second, time.Millisecond)
	h.hub.SendBooking(mine, json.RawMessage(`{}`))
	other.send(`{"type":"ping"}`)
	other.wants(`{"type":"pong"}`)
}

func TestClosedIsCalledOnceForASocketThatWasTaken(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	closed := make(chan struct{}, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.hub.Serve(w, r, realtime.Client{Closed: func() { closed <- struct{}{} }})
	}))
	defer server.Close()
	at := &house{cinema: h.cinema, hub: h.hub, url: "ws" + strings.TrimPrefix(server.URL, "http")}
	at.refused(t, "Origin", "https://evil.example")
	c := at.dial(t)
	c.Close()
	<-closed
	require.Empty(t, closed)
}

// Over TLS in process there is no write that does not wait: each socket waits by itself, and
// everything else is the same.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	server := httptest.NewTLSServer(http.HandlerFunc(h.serve))
	defer server.Close()
	at := &house{cinema: h.cinema, hub: h.hub, url: "wss" + strings.TrimPrefix(server.URL, "https")}
	dialer := &websocket.Dialer{
		Subprotocols:    []string{"aisle.v1"},
		TLSClientConfig: &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS13},
	}
	s := h.add(2000)
	var sockets []raw
	for range 5 {
		c := at.rawWith(t, dialer)
		c.send(`{"type":"subscribe","showing":%q}`, s.showing)
		require.Contains(t, c.next(), `"seq":1,`)
		sockets = append(sockets, c)
	}
	for i := range 20 {
		flip(s, 2000, i)
	}
	seq := s.now().Seq
	for _, c := range sockets {
		var m struct{ Prev, Seq int64 }
		for at := int64(1); at < seq; at = m.Seq {
			require.NoError(t, json.Unmarshal([]byte(c.next()), &m))
			require.Equal(t, at, m.Prev)
		}
		require.NoError(t, c.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"buy"}`)))
		c.wantsError("bad-message")
		c.wantsClose(1008)
		require.NoError(t, c.ws.Close())
	}
}

// What a listener hands out may be more than a TCP connection.
func TestOverAWrappedConnection(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	server.Listener = wrapping{server.Listener}
	server.Start()
	defer server.Close()
	at := &house{cinema: h.cinema, hub: h.hub, url: "ws" + strings.TrimPrefix(server.URL, "http")}
	c := at.raw(t)
	c.send(`{"type":"ping"}`)
	c.wants(`{"type":"pong"}`)
	c.send(`{"type":"buy"}`)
	c.wantsError("bad-message")
	_, _, err := c.ws.ReadMessage()
	require.True(t, websocket.IsCloseError(err, websocket.ClosePolicyViolation), err)
}

// wrapping hides what its connections are.
type wrapping struct{ net.Listener }

func (l wrapping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return struct{ net.Conn }{c}, err
}

// The hub begins to drain while a handshake is under way: that socket is sent away too, and waited for.
func TestDrainDuringAHandshake(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	drained := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.hub.Serve(late{w, func() {
			go func() {
				h.hub.Drain(context.Background())
				close(drained)
			}()
			for { // Until the drain has begun.
				other := httptest.NewRecorder()
				h.serve(other, r)
				if other.Code == http.StatusServiceUnavailable {
					return
				}
			}
		}}, r, realtime.Client{})
	}))
	defer server.Close()
	at := &house{cinema: h.cinema, hub: h.hub, url: "ws" + strings.TrimPrefix(server.URL, "http")}
	c := at.dial(t)
	bye, said, err := c.WaitBye(t.Context())
	require.NoError(t, err)
	require.True(t, said)
	require.Equal(t, "draining", bye.Reason)
	<-drained
	require.Zero(t, h.hub.Sockets())
}

// late does something before it hands the connection over.
type late struct {
	http.ResponseWriter
	before func()
}

func (l late) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	l.before()
	return http.NewResponseController(l.ResponseWriter).Hijack()
}
