package realtime_test

import (
	"encoding/binary"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/realtime"
)

// masked is a client's frame with a mask of zeros, which leaves the payload as it is. length may
// promise more than the payload holds.
func masked(first byte, length uint64, payload string) []byte {
	frame := []byte{first}
	switch {
	case length < 126:
		frame = append(frame, 0x80|byte(length))
	case length <= 0xFFFF:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(length))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), length)
	}
	frame = append(frame, 0, 0, 0, 0)
	return append(frame, payload...)
}

func (r raw) write(frame []byte) {
	r.t.Helper()
	_, err := r.ws.NetConn().Write(frame)
	require.NoError(r.t, err)
}

// A message of 4 KiB is taken, one byte more is not.
func TestMessagesOver4KiBClose1009(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	ping := `{"type":"ping"}`

	fits := h.raw(t)
	fits.send("%s", ping+strings.Repeat(" ", 4096-len(ping)))
	fits.wants(`{"type":"pong"}`)

	over := h.raw(t)
	over.send("%s", ping+strings.Repeat(" ", 4097-len(ping)))
	over.wantsClose(1009)

	// In fragments it is one message all the same.
	parts := h.raw(t)
	parts.write(masked(0x01, 4096, strings.Repeat(" ", 4096)))
	parts.write(masked(0x80, 1, " "))
	parts.wantsClose(1009)
}

// A frame of 1 MB is refused by its header: none of it is kept.
func TestHugeFrameCloses1009(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	c.write(masked(0x81, 1<<20, strings.Repeat("a", 64<<10)))
	c.wantsClose(1009)
	require.NoError(t, c.ws.Close())
	require.Eventually(t, func() bool { return h.counts.of(h.counts.closed, "too-big") == 1 }, 5*time.Second, time.Millisecond)

	absurd := h.raw(t)
	absurd.write(masked(0x81, 1<<63, ""))
	absurd.wantsClose(1009)
}

// Compression is never agreed on, and a compressed frame is refused unread: a bomb can't go off.
func TestCompressedBombCloses1008(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	ws, resp, err := (&websocket.Dialer{EnableCompression: true, Subprotocols: []string{"aisle.v1"}}).
		DialContext(t.Context(), h.url, nil)
	require.NoError(t, err)
	defer func() { _ = ws.Close() }()
	_ = resp.Body.Close()
	require.Empty(t, resp.Header.Get("Sec-WebSocket-Extensions"))

	c := raw{t: t, ws: ws}
	c.write(masked(0x80|0x40|0x01, 4, "\xca\x48\xcd\xc9")) // RSV1: the sign of a compressed message.
	c.wantsError("bad-message")
	c.wantsClose(1008)
}

func TestTwentyMessagesASecond(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	for range 20 {
		c.send(`{"type":"ping"}`)
	}
	for range 20 {
		c.wants(`{"type":"pong"}`)
	}
	// The 21st comes within the same second, unless this machine is very slow: then one of these does.
	for range 21 {
		c.send(`{"type":"ping"}`)
	}
	message := c.next()
	for message == `{"type":"pong"}` {
		message = c.next()
	}
	require.JSONEq(t, `{"type":"error","code":"bad-message","detail":"too many messages a second"}`, message)
	c.wantsClose(1008)
}

// Pings and pongs of the WebSocket protocol count as the messages they are.
func TestFloodOfControlFramesCloses1008(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	for name, kind := range map[string]byte{"ping": 0x89, "pong": 0x8A} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := h.raw(t)
			flood := []byte{}
			for range 21 {
				flood = append(flood, masked(kind, 0, "")...)
			}
			c.write(flood)
			c.wantsError("bad-message")
			c.wantsClose(1008)
		})
	}
}

func TestProtocolPingIsAnswered(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	pongs := make(chan string, 1)
	c.ws.SetPongHandler(func(payload string) error { pongs <- payload; return nil })
	require.NoError(t, c.ws.WriteControl(websocket.PingMessage, []byte("are you there"), time.Now().Add(time.Second)))
	c.send(`{"type":"ping"}`)
	c.wants(`{"type":"pong"}`)
	require.Equal(t, "are you there", <-pongs)
}

// Empty fragments never make a message, so they escape the count of messages, but not that of bytes.
func TestEndlessFragmentsClose1008(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	c.write(masked(0x01, 0, ""))
	empty := []byte(strings.Repeat(string(masked(0x00, 0, "")), 2000))
	c.write(empty)
	c.wantsError("bad-message")
	c.wantsClose(1008)
}

func TestWhatIsNoMessageCloses1008(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	for name, message := range map[string]string{
		"unknown type":          `{"type":"buy"}`,
		"no type":               `{}`,
		"not JSON":              `hello`,
		"not an object":         `["ping"]`,
		"empty":                 ``,
		"two values":            `{"type":"ping"}{"type":"ping"}`,
		"unknown field":         `{"type":"ping","id":1}`,
		"a field of another":    `{"type":"ping","since":1}`,
		"unsubscribe and since": `{"type":"unsubscribe","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001","since":1}`,
		"subscribe to nothing":  `{"type":"subscribe"}`,
		"since is no number":    `{"type":"subscribe","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001","log":"a","since":"1"}`,
		"since is negative":     `{"type":"subscribe","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001","log":"a","since":-1}`,
		"log is too long":       `{"type":"subscribe","showing":"0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001","log":"` + strings.Repeat("a", 65) + `","since":1}`,
		"not UTF-8":             "{\"type\":\"ping\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := h.raw(t)
			c.write(masked(0x81, uint64(len(message)), message))
			c.wantsError("bad-message")
			c.wantsClose(1008)
		})
	}
}

func TestBinaryMessageCloses1008(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	require.NoError(t, c.ws.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"ping"}`)))
	c.wantsError("bad-message")
	c.wantsClose(1008)
}

// After the error nothing more is listened to, however much comes: the answer still gets through.
func TestNothingIsHeardAfterTheError(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	c := h.raw(t)
	c.send(`{"type":"buy"}`)
	for range 1000 {
		if err := c.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"subscribe","showing":"`+s.showing.String()+`"}`)); err != nil {
			break
		}
	}
	c.wantsError("bad-message")
	c.wantsClose(1008)
	require.Zero(t, h.hub.Rooms())
}

// A client that says goodbye is answered in kind.
func TestClientsCloseIsEchoed(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	for _, code := range []int{1000, 1001, 4999} {
		c := h.raw(t)
		require.NoError(t, c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "enough"), time.Now().Add(time.Second)))
		c.wantsClose(code)
		require.NoError(t, c.ws.Close())
	}
	require.Eventually(t, func() bool { return h.counts.of(h.counts.closed, "client") == 3 }, 5*time.Second, time.Millisecond)
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{AllowedOrigins: []string{"https://Tickets.example"}})
	own := "http" + strings.TrimPrefix(h.url, "ws")
	for name, c := range map[string]struct {
		origins []string
		taken   bool
	}{
		"none: a native client":       {nil, true},
		"the server's own":            {[]string{own}, true},
		"the own host by TLS":         {[]string{strings.Replace(own, "http:", "https:", 1)}, true},
		"allowed":                     {[]string{"https://tickets.example"}, true},
		"allowed, but not encrypted":  {[]string{"http://tickets.example"}, false},
		"allowed, but another port":   {[]string{"https://tickets.example:8443"}, false},
		"another site":                {[]string{"https://evil.example"}, false},
		"starts like an allowed one":  {[]string{"https://tickets.example.evil.example"}, false},
		"the own host as a user name": {[]string{"http://" + strings.TrimPrefix(own, "http://") + "@evil.example"}, false},
		"null: a sandboxed page":      {[]string{"null"}, false},
		"empty":                       {[]string{""}, false},
		"two":                         {[]string{own, own}, false},
		"no URL":                      {[]string{"http://%"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var header []string
			for _, origin := range c.origins {
				header = append(header, "Origin", origin)
			}
			if c.taken {
				h.raw(t, header...).send(`{"type":"ping"}`)
				return
			}
			status, problem := h.refused(t, header...)
			require.Equal(t, http.StatusForbidden, status)
			require.Equal(t, "/problems/origin-refused", problem)
		})
	}
}

func TestOwnOriginCheckDecides(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "https://a.example" }})
	h.raw(t, "Origin", "https://a.example").send(`{"type":"ping"}`)
	status, _ := h.refused(t, "Origin", "https://b.example")
	require.Equal(t, http.StatusForbidden, status)
	// It is not asked about native clients.
	h.raw(t).send(`{"type":"ping"}`)
}
