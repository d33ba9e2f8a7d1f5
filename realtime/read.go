package realtime

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// readBufferSize is small: every socket keeps one, and messages are short. What is longer goes
// past it. Gorilla takes no buffer of ours below 257 bytes.
const readBufferSize = 288

var errTooFast = errors.New("realtime: too many messages a second")

// A socket's reader is one goroutine at any time, but not the same one: await waits for the client,
// which is what sockets mostly do, and needs the smallest stack there is; listen does the rest on a
// stack that is given back when the client is silent again. Each starts the other as its last act.

// await waits until there is something to read, or an end.
func (c *conn) await() {
	if c.raw != nil {
		_ = c.raw.Read(peek) // Whatever it is, reading says it again.
	}
	go c.listen()
}

// peek says whether a read would not wait.
func peek(fd uintptr) bool {
	var one [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EAGAIN)
		}
	}
}

// listen takes messages until none waits, or to the connection's end.
func (c *conn) listen() {
	for {
		if err := c.message(); err != nil {
			c.part(endOf(err))
			return
		}
		if !c.alive(time.Now()) {
			c.part(brokenEnd()) // Someone else has said goodbye already.
			return
		}
		if c.buffer.Buffered() == 0 && c.raw != nil {
			go c.await()
			return
		}
	}
}

// message reads one message and does what it says.
func (c *conn) message() error {
	kind, message, err := c.ws.NextReader()
	if err != nil {
		return err
	}
	if !c.rate.allow(time.Now()) {
		return errTooFast
	}
	if kind != websocket.TextMessage {
		return badMessage("only text messages are understood")
	}
	if err := c.take(message); err != nil {
		return err
	}
	c.wire.next()
	return nil
}

// take reads a message's text and does what it says. Its buffer goes back to the pool with it, so that
// an idle socket holds none.
func (c *conn) take(message io.Reader) error {
	buf, ok := c.hub.buffers.Get().(*bytes.Buffer)
	if !ok {
		buf = new(bytes.Buffer)
	}
	defer c.hub.buffers.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(message); err != nil {
		return err
	}
	cmd, err := decodeCommand(buf.Bytes())
	if errors.Is(err, ErrUnknownShowing) {
		c.send(errorFrame(codeUnknownShowing, "there is no such showing", uuid.Nil))
		return nil
	}
	if err != nil {
		return err
	}
	switch cmd.kind {
	case commandPing:
		c.send(c.hub.pong)
	case commandSubscribe:
		c.subscribe(cmd.showing, cmd.resume)
	case commandUnsubscribe:
		c.unsubscribe(cmd.showing)
	}
	return nil
}

func (c *conn) onPing(payload string) error {
	if err := c.onPong(payload); err != nil {
		return err
	}
	c.send(protocolPong(payload))
	return nil
}

// onPong counts a control frame as the message it is, and as a sign of life.
func (c *conn) onPong(string) error {
	now := time.Now()
	if !c.rate.allow(now) {
		return errTooFast
	}
	c.wire.next()
	c.alive(now)
	return nil
}

// endOf says how to part from a client after an error of reading.
func endOf(err error) ending {
	var bad *badMessageError
	var closed *websocket.CloseError
	var broken net.Error
	switch {
	case errors.As(err, &bad):
		return badEnd(bad.detail)
	case errors.Is(err, errTooFast):
		return badEnd("too many messages a second")
	case errors.Is(err, errTooManyBytes):
		return badEnd("too many fragments")
	case errors.Is(err, websocket.ErrReadLimit):
		return tooBigEnd()
	case errors.As(err, &closed):
		return echoEnd(closed.Code)
	case errors.As(err, &broken):
		if broken.Timeout() {
			return byeIdle()
		}
		return brokenEnd()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return brokenEnd()
	default:
		return badEnd("not the WebSocket protocol")
	}
}

// subscribe asks the room of a showing for its map. Asking again is how a client that missed
// something starts anew.
func (c *conn) subscribe(showing uuid.UUID, from resume) {
	c.mu.Lock()
	known := c.roomLocked(showing) >= 0
	full := !known && len(c.rooms) >= c.hub.cfg.MaxSubscriptions
	c.mu.Unlock()
	if full {
		c.send(errorFrame(codeTooMany, "this connection watches as many showings as it may", showing))
		return
	}
	c.hub.join(c, showing, from)
}

func (c *conn) unsubscribe(showing uuid.UUID) {
	c.mu.Lock()
	i := c.roomLocked(showing)
	var r *room
	if i >= 0 {
		r = c.rooms[i]
		c.removeLocked(i)
	}
	c.mu.Unlock()
	if r != nil {
		r.post(request{conn: c, leave: true})
	}
}

// roomLocked finds the room of a showing among its own, -1 if it is not there.
func (c *conn) roomLocked(showing uuid.UUID) int {
	for i, r := range c.rooms {
		if r.showing == showing {
			return i
		}
	}
	return -1
}

func (c *conn) removeLocked(i int) {
	last := len(c.rooms) - 1
	c.rooms[i], c.rooms[last] = c.rooms[last], nil
	c.rooms = c.rooms[:last]
}

// joined remembers a room; it replaces an older room of the same showing, which has ended.
func (c *conn) joined(r *room) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.roomLocked(r.showing); i >= 0 {
		c.rooms[i] = r
		return
	}
	c.rooms = append(c.rooms, r)
}

// turnedAway forgets a room that could not be had, and tells the client.
func (c *conn) turnedAway(r *room) {
	c.mu.Lock()
	if i := c.roomLocked(r.showing); i >= 0 && c.rooms[i] == r {
		c.removeLocked(i)
	}
	c.mu.Unlock()
	c.send(errorFrame(codeUnknownShowing, "there is no such showing", r.showing))
}

func (c *conn) leaveRooms() {
	c.mu.Lock()
	rooms := c.rooms
	c.rooms = nil
	c.mu.Unlock()
	for _, r := range rooms {
		r.post(request{conn: c, leave: true})
	}
}
