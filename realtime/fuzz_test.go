package realtime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const fuzzShowing = "0b0f5d4e-5d3c-4d0f-8a36-0d4b0ce0a001"

// ours are the words in which clients are told what is wrong.
var ours = regexp.MustCompile(`^(not UTF-8|not JSON|not a JSON object|more than one JSON value|unknown (type|field)|` +
	`(type|showing|log|since) has the wrong JSON type|showing is missing|ping takes no other field|` +
	`unsubscribe takes only a showing|log is longer than 64 bytes|since is negative|only text messages are understood|` +
	`too many messages a second|too many fragments|not the WebSocket protocol)$`)

// Whatever comes, it is understood or refused in one of two ways, in our own words; and what is understood is
// whole: written again as the protocol has it, it means the same.
func FuzzDecodeCommand(f *testing.F) {
	for _, seed := range []string{
		`{"type":"ping"}`, `{"type":"subscribe","showing":"` + fuzzShowing + `","log":"k3f9","since":41}`,
		`{"type":"unsubscribe","showing":"` + fuzzShowing + `"}`, `{"type":"buy"}`, `[]`, `null`, ``,
		`{"type":"ping","type":"subscribe"}`, "{\"type\":\"ping\xff\"}", `{"type":"subscribe","since":1e3}`, `{"type":1}`,
		strings.Repeat(`{"type":`, 1000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cmd, err := decodeCommand(data)
		if err != nil {
			var bad *badMessageError
			if !errors.As(err, &bad) && !errors.Is(err, ErrUnknownShowing) {
				t.Fatalf("refused with %v", err)
			}
			if bad != nil && !ours.MatchString(bad.detail) {
				t.Fatalf("the detail %q is not of the protocol", bad.detail)
			}
			return
		}
		if !utf8.Valid(data) || cmd.resume.since < 0 || len(cmd.resume.log) > maxLogBytes {
			t.Fatalf("took %q as %+v", data, cmd)
		}
		again, err := decodeCommand(writeCommand(t, cmd))
		if err != nil || again != cmd {
			t.Fatalf("took %q as %+v, and that as %+v (%v)", data, cmd, again, err)
		}
	})
}

// writeCommand is the command as a client writes it.
func writeCommand(t *testing.T, cmd command) []byte {
	t.Helper()
	message := map[string]any{"type": "ping"}
	switch cmd.kind {
	case commandPing:
	case commandUnsubscribe:
		message = map[string]any{"type": "unsubscribe", "showing": cmd.showing.String()}
	case commandSubscribe:
		message = map[string]any{"type": "subscribe", "showing": cmd.showing.String()}
		if cmd.resume != (resume{}) {
			message["log"], message["since"] = cmd.resume.log, cmd.resume.since
		}
	default:
		t.Fatalf("%+v is no command", cmd)
	}
	data, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever bytes a client sends once its socket is open, the socket ends when the client does, and what the client
// gets is whole messages of the protocol.
func FuzzSocket(f *testing.F) {
	for _, seed := range []string{
		masked(0x81, `{"type":"ping"}`), masked(0x81, `{"type":"subscribe","showing":"`+fuzzShowing+`","log":"k3f9","since":1}`),
		masked(0x81, `{"type":"subscribe","showing":"`+fuzzShowing+`"}`) + masked(0x81, `{"type":"unsubscribe","showing":"`+fuzzShowing+`"}`),
		masked(0x81, `{"type":"subscribe","showing":"00000000-0000-0000-0000-000000000000"}`),
		masked(0x89, "hello") + masked(0x8A, ""), masked(0x82, "bytes"), masked(0x88, "\x03\xe8bye"), masked(0x88, "\x03\xed"), masked(0x88, "\x00"),
		masked(0x01, `{"type":`) + masked(0x00, `"pi`) + masked(0x80, `ng"}`), strings.Repeat(masked(0x01, ""), 100),
		masked(0xC1, "deflated"), masked(0x81, strings.Repeat("x", 200)), "\x81\x05hello", "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff",
		strings.Repeat(masked(0x81, `{"type":"ping"}`), 21), "GET / HTTP/1.1\r\n\r\n", "",
	} {
		f.Add([]byte(seed))
	}
	hub := runHub(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		line, gone := openSocket(t, hub)
		heard := make(chan []byte, 1)
		go func() { heard <- untilClosed(line) }()
		_, _ = line.Write(append(sent, masked(finalClose, "")...))      // A socket that has ended takes no more.
		_ = line.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // The close was swallowed by a frame that goes on.
		all := <-heard
		_ = line.Close()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Fatal("the socket outlived its client")
		}
		if rest, ok := strings.CutPrefix(string(all), "HTTP/1.1 101 Switching Protocols\r\n"); ok {
			_, frames, _ := strings.Cut(rest, "\r\n\r\n")
			checkFrames(t, []byte(frames))
			return
		}
		t.Fatalf("the handshake was answered with %q", all)
	})
}

// untilClosed reads to the close frame, or to the end of the line.
func untilClosed(line net.Conn) []byte {
	var all []byte
	chunk := make([]byte, 4096)
	for {
		n, err := line.Read(chunk)
		all = append(all, chunk[:n]...)
		_, frames, _ := bytes.Cut(all, []byte("\r\n\r\n"))
		for {
			first, _, rest, whole := cutFrame(frames)
			if !whole {
				break
			}
			if first == finalClose {
				return all
			}
			frames = rest
		}
		if err != nil {
			return all
		}
	}
}

// masked is a frame as clients send it, with a mask that leaves the payload as it is.
func masked(first byte, payload string) string {
	header := []byte{first, 0x80 | byte(len(payload))}
	if len(payload) > 125 {
		header = binary.BigEndian.AppendUint16([]byte{first, 0x80 | 126}, uint16(len(payload)))
	}
	return string(header) + "\x00\x00\x00\x00" + payload
}

// runHub runs a hub whose one showing never changes, until the test ends.
func runHub(f *testing.F) *Hub {
	f.Helper()
	hub, err := NewHub(Config{GoodbyeTimeout: 5 * time.Millisecond, MaxMessageBytes: 128}, stillMaps{})
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- hub.Run(ctx) }()
	f.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			f.Error(err)
		}
	})
	<-hub.Ready()
	return hub
}

// openSocket opens a socket on a line in memory. gone is closed when the hub has let it go.
func openSocket(t *testing.T, hub *Hub) (line net.Conn, gone chan struct{}) {
	t.Helper()
	line, server := net.Pipe()
	gone = make(chan struct{})
	go hub.Serve(&takeover{conn: server}, &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: "aisle.example", Header: http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {Subprotocol},
		},
	}, Client{Closed: func() { close(gone) }})
	return line, gone
}

// takeover is an http.ResponseWriter whose connection may be taken over.
type takeover struct {
	http.ResponseWriter
	conn net.Conn
}

func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return t.conn, bufio.NewReadWriter(bufio.NewReader(t.conn), bufio.NewWriter(t.conn)), nil
}

// checkFrames holds what a client got against the protocol. The last frame may be cut off.
func checkFrames(t *testing.T, all []byte) {
	t.Helper()
	for closed := false; len(all) > 0; {
		if closed {
			t.Fatalf("%q follows a close", all)
		}
		first, payload, rest, whole := cutFrame(all)
		if !whole {
			return
		}
		all = rest
		switch first {
		case finalText:
			checkMessage(t, payload)
		case finalPong:
		case finalClose:
			closed = true
		default:
			t.Fatalf("a frame of kind %x", first)
		}
	}
}

func cutFrame(all []byte) (first byte, payload, rest []byte, whole bool) {
	if len(all) < 2 {
		return 0, nil, nil, false
	}
	first, size, all := all[0], int(all[1]), all[2:]
	if size == 126 && len(all) >= 2 {
		size, all = int(binary.BigEndian.Uint16(all)), all[2:]
	}
	if size > len(all) {
		return 0, nil, nil, false
	}
	return first, all[:size], all[size:], true
}

func checkMessage(t *testing.T, payload []byte) {
	t.Helper()
	var message struct{ Type, Code, Detail string }
	decoder := json.NewDecoder(bytes.NewReader(payload))
	if err := decoder.Decode(&message); err != nil || decoder.More() {
		t.Fatalf("%q is no message: %v", payload, err)
	}
	switch message.Type {
	case "snapshot", "delta", "stale", "pong", "bye":
	case "error":
		if message.Code == codeBadMessage && !ours.MatchString(message.Detail) {
			t.Fatalf("the detail %q is not of the protocol", message.Detail)
		}
	default:
		t.Fatalf("a message of type %q", message.Type)
	}
}

// stillMaps has one showing, of which nothing changes.
type stillMaps struct{}

func (stillMaps) Open(_ context.Context, showing uuid.UUID) (Map, error) {
	if showing.String() != fuzzShowing {
		return nil, fmt.Errorf("%w: %s", ErrUnknownShowing, showing)
	}
	return stillMap{changes: make(chan struct{})}, nil
}

type stillMap struct{ changes chan struct{} }

func (m stillMap) Changes() <-chan struct{} { return m.changes }

func (stillMap) Snapshot() Snapshot {
	return Snapshot{Log: "k3f9", Seq: 3, Seats: json.RawMessage(`{"A1":"held"}`)}
}

func (stillMap) Since(log string, seq int64) (Delta, bool) {
	return Delta{Prev: seq, Seq: 3, Seats: map[string]string{}}, log == "k3f9" && seq <= 3
}

func (stillMap) CatchUp(context.Context, int64) error { return context.DeadlineExceeded }
func (stillMap) Close()                               {}

// A page of another site is never taken for one of ours, however it spells its Origin.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{
		"https://aisle.example", "http://AISLE.example:80", "https://aisle.example:443", "null", "", "https://aisle.example.evil.example",
		"https://evil.example/aisle.example", "https://user@aisle.example", "https://aisle.example#x", "file://", "https://partner.example",
	} {
		f.Add(seed)
	}
	check := originCheck([]string{"https://partner.example"})
	mayBe := regexp.MustCompile(`^(https://partner\.example|[a-z][a-z0-9+.-]*://aisle\.example|http://aisle\.example:80|https://aisle\.example:443)$`)
	f.Fuzz(func(t *testing.T, origin string) {
		r := &http.Request{Host: "aisle.example", Header: http.Header{"Origin": {origin}}}
		if check(r) && !mayBe.MatchString(strings.ToLower(origin)) {
			t.Fatalf("%q was let in", origin)
		}
		r.Header["Origin"] = []string{origin, origin}
		if check(r) {
			t.Fatal("two Origins were let in")
		}
	})
}
