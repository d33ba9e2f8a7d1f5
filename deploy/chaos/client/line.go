package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

const (
	subprotocol = "aisle.v1"

	// maxMessage bounds what a watcher reads as one message, in bytes.
	maxMessage = 4 << 20

	// writeTime is what a write of a few bytes may take before the line counts as dead.
	writeTime = time.Second

	// byeTime is what a server may take from its bye to the close frame.
	byeTime = 2 * time.Second
)

const pingMessage = `{"type":"ping"}`

// line is one WebSocket connection of a watcher's.
type line struct {
	ws *websocket.Conn

	writing sync.Mutex // the watcher subscribes, its pings are another's

	// The rest is the watcher's goroutine's alone.
	renewed      time.Time // when the read deadline was last set
	answered     bool      // a subscription of this line was
	asked        bool      // one was sent
	waiting      bool      // for the answer to a subscription
	resubscribed bool      // the subscription waited for is not the line's first: deltas of the one before may still come
	resumes      bool      // the subscription waited for said which map the watcher has
	bye          bool
	retryAfter   time.Duration
	log          string // with seq: the latest that was seen on this line; "": nothing was
	seq          int64
}

func liveURL(url string) string {
	return "ws" + strings.TrimPrefix(strings.TrimSuffix(url, "/"), "http") + "/api/v1/live"
}

func (w *watcher) dial(ctx context.Context) (*line, error) {
	ws, res, err := w.all.dialer.DialContext(ctx, liveURL(w.last), nil)
	if res != nil && res.Body != nil {
		res.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(maxMessage)
	if ws.Subprotocol() != subprotocol {
		w.wrong(WatchersRight, "the server chose subprotocol %q", ws.Subprotocol())
	}
	return &line{ws: ws}, nil
}

// write sends one message; a line that does not take it is closed, which its reader sees.
func (l *line) write(message string) {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if err == nil {
		err = l.ws.WriteMessage(websocket.TextMessage, []byte(message))
	}
	if err != nil {
		l.close()
	}
}

// leave says goodbye and closes the line.
func (l *line) leave() {
	_ = l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(100*time.Millisecond))
	l.close()
}

func (l *line) close() { _ = l.ws.Close() }

// subscribe asks for the showing; with resume, from the map on that the watcher has.
func (w *watcher) subscribe(l *line, resume bool) {
	request := struct {
		Type    string    `json:"type"`
		Showing uuid.UUID `json:"showing"`
		Log     string    `json:"log,omitempty"`
		Since   *int64    `json:"since,omitempty"`
	}{Type: "subscribe", Showing: w.house.showing}
	l.resumes = resume && w.log != ""
	if l.resumes {
		request.Log, request.Since = w.log, &w.seq
	}
	message, err := json.Marshal(request)
	if err != nil {
		w.wrong(WatchersRight, "subscribe: %v", err)
		return
	}
	l.resubscribed, l.asked, l.waiting = l.asked, true, true
	w.setLive(false)
	l.write(string(message))
}

// read takes messages until the line ends.
func (w *watcher) read(ctx context.Context, l *line) end {
	for {
		l.renew(w.all.cfg.Silence)
		if err := w.readOne(l); err != nil {
			if ctx.Err() == nil {
				w.blame(l, err)
			}
			return end{answered: l.answered, bye: l.bye, retryAfter: l.retryAfter}
		}
	}
}

// renew moves the instant at which the line counts as dead. Once a second is enough, and timers cost.
func (l *line) renew(silence time.Duration) {
	now := time.Now()
	if l.bye || now.Sub(l.renewed) < min(time.Second, silence/10) {
		return
	}
	l.renewed = now
	_ = l.ws.SetReadDeadline(now.Add(silence))
}

func (w *watcher) readOne(l *line) error {
	kind, r, err := l.ws.NextReader()
	if err != nil {
		return err
	}
	buffer := w.all.buffers.Get().(*[]byte)
	defer w.all.buffers.Put(buffer)
	if *buffer, err = readInto((*buffer)[:0], r); err != nil {
		return err
	}
	w.all.counters.messages.Add(1)
	if kind != websocket.TextMessage {
		w.wrong(WatchersRight, "a message that is no text: %.80q", *buffer)
		return nil
	}
	if err := w.take(l, *buffer); err != nil {
		w.wrong(WatchersRight, "%v in %.200s", err, *buffer)
	}
	return nil
}

// readInto appends all of r to buffer, as io.ReadAll would to a new one.
func readInto(buffer []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buffer) == cap(buffer) {
			buffer = append(buffer, 0)[:len(buffer)]
		}
		n, err := r.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return buffer, err
		}
	}
}

// blame reports a close frame with which the server blames the watcher, who keeps to the protocol.
func (w *watcher) blame(l *line, err error) {
	if !l.bye && websocket.IsCloseError(err, websocket.CloseProtocolError, websocket.CloseUnsupportedData,
		websocket.CloseInvalidFramePayloadData, websocket.ClosePolicyViolation, websocket.CloseMessageTooBig) {
		w.wrong(WatchersRight, "the server closed the line for no reason: %v", err)
	}
	if l.bye && !isClose(err) {
		w.wrong(WatchersRight, "after its bye the server sent no close frame: %v", err)
	}
}

func isClose(err error) bool {
	var closed *websocket.CloseError
	return errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure
}

// farewell takes a bye: only the close frame may follow it.
func (w *watcher) farewell(l *line, m *message) error {
	w.all.counters.byes.Add(1)
	l.bye, l.retryAfter = true, time.Duration(m.retryAfter)*time.Millisecond
	_ = l.ws.SetReadDeadline(time.Now().Add(byeTime))
	switch string(m.reason) {
	case "draining", "slow", "idle":
		return nil
	default: // session-ended too: it has none
		return fmt.Errorf("bye for reason %q", m.reason)
	}
}
