package client

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// What is wrong with the end of a hostile line.
var (
	// ErrStillOpen: the server had not ended the line when the context ended.
	ErrStillOpen = errors.New("the line is still open")
	// ErrWrongEnding: the server ended the line in another way than the contract says.
	ErrWrongEnding = errors.New("wrong ending")
)

// Ending is how a server ended a line.
type Ending struct {
	Code  int           // of the close frame; 0 if none came through: the line was cut
	Error string        // code of the error message before it; "" if none
	Bye   string        // reason of the bye before it; "" if none
	Took  time.Duration // since the offence began
}

func (e Ending) String() string {
	return fmt.Sprintf("close code %d, error %q, bye %q, after %s", e.Code, e.Error, e.Bye, e.Took.Round(time.Millisecond))
}

// PingFlood sends three times the messages that a client may send in a second. The right ending: error, close 1008.
func PingFlood(ctx context.Context, url string) (Ending, error) {
	ending, err := offend(ctx, url, func(ws *websocket.Conn) error {
		for range 60 {
			if err := ws.WriteMessage(websocket.TextMessage, []byte(pingMessage)); err != nil {
				return err
			}
		}
		return nil
	})
	return ending, expectError(ending, err)
}

// UnknownType sends a message that the protocol does not know. The right ending: error, close 1008.
func UnknownType(ctx context.Context, url string) (Ending, error) {
	ending, err := offend(ctx, url, func(ws *websocket.Conn) error {
		return ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"buy-all"}`))
	})
	return ending, expectError(ending, err)
}

func expectError(ending Ending, err error) error {
	if err == nil && (ending.Code != websocket.ClosePolicyViolation || ending.Error == "") {
		return fmt.Errorf("%w: %s, not error and close 1008", ErrWrongEnding, ending)
	}
	return err
}

// cutBytes is the size from which on a server may hang up before it has read the message; its close frame may then be lost.
const cutBytes = 16 << 10

// Oversized sends one message of size bytes, more than the 4 KiB a client may. The right ending: close 1009, or for a
// message of 16 KiB and more the line may also be cut.
func Oversized(ctx context.Context, url string, size int) (Ending, error) {
	ending, err := offend(ctx, url, func(ws *websocket.Conn) error {
		return ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"`+strings.Repeat("x", size)+`"}`))
	})
	if err == nil && ending.Code != websocket.CloseMessageTooBig && (ending.Code != 0 || size < cutBytes) {
		return ending, fmt.Errorf("%w: %s, not close 1009", ErrWrongEnding, ending)
	}
	return ending, err
}

// Bomb sends a small compressed frame that unpacks to size bytes, whether the server agreed to compression or not. The
// right ending: close 1009, or for a server that speaks no compression 1002 or 1008.
func Bomb(ctx context.Context, url string, size int) (Ending, error) {
	frame, err := bombFrame(size)
	if err != nil {
		return Ending{}, err
	}
	ending, err := offend(ctx, url, func(ws *websocket.Conn) error {
		_, err := ws.NetConn().Write(frame)
		return err
	})
	right := []int{websocket.CloseProtocolError, websocket.ClosePolicyViolation, websocket.CloseMessageTooBig}
	if err == nil && !slices.Contains(right, ending.Code) {
		return ending, fmt.Errorf("%w: %s, not close 1009, 1008 or 1002", ErrWrongEnding, ending)
	}
	return ending, err
}

// bombFrame is a client's text frame, compressed as permessage-deflate has it, of size spaces.
func bombFrame(size int) ([]byte, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(bytes.Repeat([]byte(" "), size)); err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, err
	}
	payload := bytes.TrimSuffix(packed.Bytes(), []byte{0, 0, 0xff, 0xff}) // which the extension leaves out
	if len(payload) > 1<<16-1 {
		return nil, fmt.Errorf("a bomb of %d bytes is no small frame", size)
	}
	const finTextCompressed, masked16 = 0xc1, 0xfe
	frame := binary.BigEndian.AppendUint16([]byte{finTextCompressed, masked16}, uint16(len(payload))) //nolint:gosec // bounded above
	frame = append(frame, 0, 0, 0, 0)                                                                 // a mask that changes nothing
	return append(frame, payload...), nil
}

// offend opens a line, commits the offence, and reads how the server ends it.
func offend(ctx context.Context, url string, offence func(*websocket.Conn) error) (Ending, error) {
	ws, err := dialHostile(ctx, url, websocket.Dialer{EnableCompression: true})
	if err != nil {
		return Ending{}, err
	}
	defer func() { _ = ws.Close() }()
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })()
	began := time.Now()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = offence(ws) // a server that hangs up in the middle is what is wanted
	}()
	ending := readEnding(ws)
	ending.Took = time.Since(began)
	_ = ws.NetConn().Close()
	<-sent
	if ctx.Err() != nil {
		return ending, fmt.Errorf("%w: %w", ErrStillOpen, ctx.Err())
	}
	return ending, nil
}

func dialHostile(ctx context.Context, url string, dialer websocket.Dialer) (*websocket.Conn, error) {
	dialer.Subprotocols = []string{subprotocol}
	ws, res, err := dialer.DialContext(ctx, liveURL(url), nil)
	if res != nil && res.Body != nil {
		res.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("hostile client: %w", err)
	}
	return ws, nil
}

// readEnding reads to the end of a line.
func readEnding(ws *websocket.Conn) Ending {
	var ending Ending
	for {
		_, data, err := ws.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
			ending.Code = closed.Code
		}
		if err != nil {
			return ending
		}
		var m message
		if decodeMessage(data, &m) != nil {
			continue
		}
		switch string(m.kind) {
		case "error":
			ending.Error = string(m.code)
		case "bye":
			ending.Bye = string(m.reason)
		}
	}
}

// stuckEvery is the pause between two subscriptions of a client that does not read: under the 20 messages a second that it may send.
const stuckEvery = 80 * time.Millisecond

// StopsReading subscribes to a showing, again and again, and reads nothing. The right ending: the server gives up on the
// line, with a bye "slow" as far as that still gets through.
func StopsReading(ctx context.Context, url string, showing uuid.UUID) (Ending, error) {
	narrow := net.Dialer{Control: narrowSocket}
	ws, err := dialHostile(ctx, url, websocket.Dialer{NetDialContext: narrow.DialContext})
	if err != nil {
		return Ending{}, err
	}
	defer func() { _ = ws.Close() }()
	began := time.Now()
	subscribe := []byte(`{"type":"subscribe","showing":"` + showing.String() + `"}`)
	for {
		// Writing tells that the server has closed: what it never could send stands before its close in the line.
		_ = ws.SetWriteDeadline(time.Now().Add(writeTime))
		if ws.WriteMessage(websocket.TextMessage, subscribe) != nil {
			break
		}
		if err := wait(ctx, stuckEvery); err != nil {
			return Ending{Took: time.Since(began)}, fmt.Errorf("%w: %w", ErrStillOpen, err)
		}
	}
	took := time.Since(began)
	_ = ws.SetReadDeadline(time.Now().Add(byeTime))
	ending := readEnding(ws)
	ending.Took = took
	if ending.Bye != "" && ending.Bye != "slow" {
		return ending, fmt.Errorf("%w: %s, not slow", ErrWrongEnding, ending)
	}
	return ending, nil
}

// narrowSocket makes a line that holds little: small segments keep the server's send buffer small too, which otherwise
// takes megabytes before anyone notices that nobody reads.
func narrowSocket(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536),
		)
	})
	return errors.Join(err, failed)
}
