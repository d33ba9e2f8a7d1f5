package realtime

import (
	"errors"
	"net"
	"time"
)

var (
	errNotTheWriter = errors.New("realtime: only the hub's writers write")
	errTooManyBytes = errors.New("realtime: too many bytes for one message")
)

// wire is what gorilla/websocket gets to see of a connection. After the handshake gorilla only
// reads: its own answers to pings, closes and broken frames end here, since they would be a second
// writer beside the hub's, in the middle of a frame perhaps.
type wire struct {
	net.Conn
	// sealed is set once, before the connection has a reader.
	sealed bool
	// taken counts the bytes read since the last message; over budget the client is not sending
	// messages but, say, empty fragments without end.
	taken, budget int64
}

func (w *wire) Write(p []byte) (int, error) {
	if w.sealed {
		return 0, errNotTheWriter
	}
	return w.Conn.Write(p)
}

func (w *wire) SetWriteDeadline(t time.Time) error {
	if w.sealed {
		return nil
	}
	return w.Conn.SetWriteDeadline(t)
}

func (w *wire) Read(p []byte) (int, error) {
	if w.sealed && w.taken > w.budget {
		return 0, errTooManyBytes
	}
	n, err := w.Conn.Read(p)
	w.taken += int64(n)
	return n, err
}

// seal leaves the connection to gorilla for reading only.
func (w *wire) seal(maxMessage int64) {
	// Room for a message in a few fragments and for what the read buffer holds of the next ones.
	const slack = 4 * readBufferSize
	w.taken, w.budget, w.sealed = 0, 2*maxMessage+slack, true
}

// next starts the count for another message.
func (w *wire) next() { w.taken = 0 }
