package realtime

import (
	"bufio"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// conn is one socket. Its reader (see await) is the one goroutine it keeps, and it ends when the
// reader ends. It is written to by whoever holds its turn (see send), which is a shard's writer or, while the socket
// takes nothing, a goroutine that waits for it.
type conn struct {
	hub    *Hub
	client Client
	net    net.Conn
	wire   *wire
	ws     *websocket.Conn
	// buffer is what ws reads from; the reader waits only where it is empty.
	buffer *bufio.Reader
	// raw is for writes that don't wait; nil where the connection offers none (TLS in process).
	raw   syscall.RawConn
	shard *shard
	rate  rate

	mu sync.Mutex
	// queue waits to be written; first is its memory as long as little waits.
	queue  []*frame
	first  [2]*frame
	queued int
	// turn says that someone is to write, or is writing: exactly one may be.
	turn bool
	// closing says that nothing more is taken; reason says why, for the metrics.
	closing bool
	reason  string
	// rooms are those it asked for; few, so a slice.
	rooms []*room
}

// Client is what the caller of Hub.Serve knows about who asks.
type Client struct {
	// Session is whose bookings the socket carries; zero for none.
	Session uuid.UUID
	// Address is the client's, as limits count it; empty where it is not to be limited.
	Address string
	// Closed, where set, is called once when a socket that was accepted is gone.
	Closed func()
}

// newConn makes a socket of a connection that is about to be upgraded: its turn is taken until it is.
func newConn(h *Hub, client Client, w *wire, buffer *bufio.Reader, s *shard) *conn {
	c := &conn{
		hub: h, client: client, net: w.Conn, wire: w, buffer: buffer, shard: s,
		rate: newRate(h.cfg.MessagesPerSecond, time.Now()), turn: true,
	}
	c.queue = c.first[:0]
	if sc, ok := w.Conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.raw = raw
		}
	}
	return c
}

// open begins the conversation once the handshake is over. Something may wait to be said already.
func (c *conn) open(ws *websocket.Conn) {
	c.ws = ws
	c.wire.seal(c.hub.cfg.MaxMessageBytes)
	ws.SetReadLimit(c.hub.cfg.MaxMessageBytes)
	ws.SetPingHandler(c.onPing)
	ws.SetPongHandler(c.onPong)
	ws.SetCloseHandler(func(int, string) error { return nil })

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing { // The handshake has cleared the deadlines.
		_ = c.net.SetDeadline(time.Now().Add(c.hub.cfg.GoodbyeTimeout))
	} else {
		_ = c.net.SetReadDeadline(time.Now().Add(c.hub.cfg.IdleTimeout))
	}
	if len(c.queue) == 0 {
		c.turn = false
		return
	}
	c.shard.push(turn{conn: c})
}

// part ends the connection, as its reader's last act.
func (c *conn) part(end ending) {
	defer c.hub.release(c)
	c.leaveRooms()
	c.close(end)
	c.linger()
	_ = c.net.Close() // Nothing is left to be done for a socket that won't close.
}

// linger reads away what the client still sends until it hangs up. Closing with bytes unread would
// reset the connection and might take our goodbye with it. The deadline that close set bounds it.
func (c *conn) linger() {
	_, _ = io.Copy(io.Discard, c.net) // However it ends, it is the end.
}

// alive puts off the idle deadline. It is false for a connection that is closing, which has a
// deadline of its own, and listens to nothing any more.
func (c *conn) alive(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		_ = c.net.SetReadDeadline(now.Add(c.hub.cfg.IdleTimeout)) // Fails on a closed socket only; reading tells.
	}
	return !c.closing
}

// send queues a frame. It never waits: where too much waits already the client is too slow and is
// closed.
func (c *conn) send(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	if len(c.queue) > 0 && (len(c.queue) >= c.hub.cfg.QueueFrames || c.queued+len(f.wire) > c.hub.cfg.QueueBytes) {
		c.hub.cfg.Metrics.Dropped(len(c.queue) + 1)
		c.queue, c.queued = c.first[:0], 0
		c.closeLocked(byeSlow())
		return
	}
	c.enqueueLocked(f)
}

func (c *conn) enqueueLocked(f *frame) {
	c.queue = append(c.queue, f)
	c.queued += len(f.wire)
	if !c.turn {
		c.turn = true
		c.shard.push(turn{conn: c})
	}
}

// close says goodbye, after what waits already, and takes nothing more. Only the first goodbye counts.
func (c *conn) close(end ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.closeLocked(end)
	}
}

func (c *conn) closeLocked(end ending) {
	c.closing, c.reason = true, end.reason
	// From here on everything has an end: the writes, and the wait for the client to hang up.
	// Setting a deadline fails on a closed socket only.
	_ = c.net.SetDeadline(time.Now().Add(c.hub.cfg.GoodbyeTimeout))
	for _, f := range end.frames {
		c.enqueueLocked(f)
	}
}

// broken ends a connection that can't be written to: the reader notices and ends.
func (c *conn) broken(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.closing, c.reason = true, reason
	}
	c.queue, c.queued = nil, 0
	_ = c.net.Close() // It is broken anyhow.
}
