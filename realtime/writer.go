package realtime

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// gatherBytes bounds what is written to one socket before the next one has its turn.
const gatherBytes = 64 << 10

// shard is a share of the sockets and the goroutine that writes to them. Turns are taken in the
// order they were asked for, and none of them waits for a client.
type shard struct {
	mu    sync.Mutex
	turns []turn
	spare []turn
	wake  chan struct{}
}

// turn is a socket with something to write, or a flight that wants to know when everything asked
// for before it has been written.
type turn struct {
	conn   *conn
	flight *flight
}

func newShard() *shard { return &shard{wake: make(chan struct{}, 1)} }

// push queues a turn. There is at most one for each of the shard's sockets and one for each room,
// which bounds the queue.
func (s *shard) push(t turn) {
	s.mu.Lock()
	s.turns = append(s.turns, t)
	first := len(s.turns) == 1
	s.mu.Unlock()
	if !first {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *shard) take() []turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.turns
	s.turns, s.spare = s.spare[:0], taken
	return taken
}

// run writes until ctx ends.
func (s *shard) run(ctx context.Context) error {
	w := newWriter()
	for {
		turns := s.take()
		if len(turns) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-s.wake:
			}
			continue
		}
		for i, t := range turns {
			turns[i] = turn{}
			if t.flight != nil {
				t.flight.landed()
				continue
			}
			t.conn.write(w)
		}
	}
}

// writer is what a writing goroutine owns: memory to join frames in, and one write that does not wait.
type writer struct {
	joined []byte
	buf    []byte
	n      int
	err    error
	once   func(fd uintptr) bool
}

func newWriter() *writer {
	w := &writer{}
	w.once = func(fd uintptr) bool {
		for {
			w.n, w.err = syscall.Write(int(fd), w.buf)
			if !errors.Is(w.err, syscall.EINTR) {
				return true // Also when the socket takes nothing: waiting is not done here.
			}
		}
	}
	return w
}

// try writes as much as the socket takes at once.
func (w *writer) try(raw syscall.RawConn, data []byte) (int, error) {
	if raw == nil {
		return 0, nil
	}
	w.buf, w.n, w.err = data, 0, nil
	if err := raw.Write(w.once); err != nil {
		return 0, err
	}
	w.buf = nil
	if errors.Is(w.err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(w.n, 0), w.err
}

// next takes what waits, joined into one run of bytes; nil where nothing does, and then the turn is
// over. shared says that the bytes are a frame's own, and not joined's.
func (c *conn) next(joined []byte) (data []byte, shared bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := 0
	for taken < len(c.queue) && (taken == 0 || len(joined)+len(c.queue[taken].wire) <= gatherBytes) {
		if len(c.queue) > 1 {
			joined = append(joined, c.queue[taken].wire...)
		}
		taken++
	}
	if taken == 0 {
		c.overLocked()
		return nil, false
	}
	alone := c.queue[0]
	c.removeFramesLocked(taken)
	if len(joined) == 0 {
		return alone.wire, true
	}
	return joined, false
}

// removeFramesLocked takes the first n frames off the queue, whose memory goes when it is empty.
func (c *conn) removeFramesLocked(n int) {
	for i, f := range c.queue[:n] {
		c.queued -= len(f.wire)
		c.queue[i] = nil
	}
	c.queue = c.queue[n:]
	if len(c.queue) == 0 {
		c.queue = c.first[:0]
	}
}

// overLocked ends the turn. After the last frame of a closing connection nobody writes again.
func (c *conn) overLocked() {
	if !c.closing {
		c.turn = false
		return
	}
	if half, ok := c.net.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // The client sees the end; if it can't be told, the deadline ends it.
	}
}

// write is a turn: what the socket takes at once is written, and where it does not take all, the
// turn passes to a goroutine of its own until it does.
func (c *conn) write(w *writer) {
	data, shared := c.next(w.joined[:0])
	if data == nil {
		return
	}
	if !shared {
		w.joined = data
	}
	n, err := w.try(c.raw, data)
	if err != nil {
		c.cantWrite(err)
		return
	}
	if n == len(data) {
		c.wrote()
		return
	}
	rest := data[n:]
	if !shared {
		rest = append([]byte(nil), rest...)
	}
	c.hub.waiters.Go(func() { c.writeWaiting(rest) })
}

// wrote ends the turn or, where more came meanwhile, asks for another behind the others.
func (c *conn) wrote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.overLocked()
		return
	}
	c.shard.push(turn{conn: c})
}

// waitingBytes is what a waiting write hands over at a time: a slow line that takes as much within
// WriteTimeout is alive.
const waitingBytes = 16 << 10

// writeWaiting writes until nothing waits any more. It gives up when a piece takes longer than
// WriteTimeout, or, once the connection is closing, all of it longer than GoodbyeTimeout.
func (c *conn) writeWaiting(data []byte) {
	for data != nil {
		for piece := range slices.Chunk(data, waitingBytes) {
			c.patience(time.Now().Add(c.hub.cfg.WriteTimeout))
			if _, err := c.net.Write(piece); err != nil {
				c.cantWrite(err)
				return
			}
		}
		data = c.nextWaiting()
	}
}

// nextWaiting is next for a turn that may have set a write deadline, which must not outlast it.
func (c *conn) nextWaiting() []byte {
	c.patience(time.Time{})
	data, _ := c.next(nil)
	return data
}

// patience sets the write deadline, unless the connection is closing and has its own.
func (c *conn) patience(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		_ = c.net.SetWriteDeadline(until) // Fails on a closed socket only; writing tells.
	}
}

func (c *conn) cantWrite(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken(reasonSlow)
		return
	}
	c.broken(reasonClient)
}
