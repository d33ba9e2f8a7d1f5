// Package realtimetest is a client of the live socket, for tests: it keeps seat maps by what the
// protocol says and by nothing else, and so shows what a browser would.
package realtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// Map is a showing's seats as a client knows them.
type Map struct {
	Log   string
	Seq   int64
	Stale bool
	Seats map[string]string
}

// Bye is the server's goodbye.
type Bye struct {
	Reason     string
	RetryAfter time.Duration
}

// Problem is an error message of the server.
type Problem struct {
	Code    string
	Detail  string
	Showing string
}

// Options of a client; the zero value is a native client without a session.
type Options struct {
	// Header goes with the handshake: Origin, Cookie, Authorization.
	Header http.Header
	// Observe, where set, is called after every message that changed a map, in order. The seats are
	// the client's own and must not be kept.
	Observe func(showing uuid.UUID, m Map)
	// PingEvery is the time between pings. Default 30 s.
	PingEvery time.Duration
}

// Client is one live socket. It ends when the server hangs up or Close is called.
type Client struct {
	ws   *websocket.Conn
	opts Options
	done chan struct{}

	writing sync.Mutex

	mu sync.Mutex
	// changed is closed, and replaced, whenever something below changed.
	changed  chan struct{}
	maps     map[uuid.UUID]*followed
	bookings []json.RawMessage
	problems []Problem
	pongs    int
	gaps     int
	bye      *Bye
	err      error
}

// followed is a map and whether it can be trusted: not before the first answer, nor after a gap.
type followed struct {
	Map
	whole bool
}

// Dial opens a socket at a ws:// or wss:// address. Where the server answers without an upgrade the
// error is a *RefusedError.
func Dial(ctx context.Context, url string, opts Options) (*Client, error) {
	if opts.PingEvery == 0 {
		opts.PingEvery = 30 * time.Second
	}
	dialer := websocket.Dialer{Subprotocols: []string{"aisle.v1"}, ReadBufferSize: 1024, WriteBufferSize: 1024}
	ws, resp, err := dialer.DialContext(ctx, url, opts.Header)
	if resp != nil {
		defer func() { _ = resp.Body.Close() }()
	}
	if err != nil && resp != nil {
		return nil, &RefusedError{Status: resp.StatusCode, Header: resp.Header}
	}
	if err != nil {
		return nil, fmt.Errorf("realtimetest: dial: %w", err)
	}
	c := &Client{
		ws: ws, opts: opts, done: make(chan struct{}),
		changed: make(chan struct{}), maps: make(map[uuid.UUID]*followed),
	}
	go c.read()
	go c.ping()
	return c, nil
}

// RefusedError is an answer that is no upgrade.
type RefusedError struct {
	Status int
	Header http.Header
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("realtimetest: refused with status %d", e.Status)
}

// Close hangs up and waits until the client has ended.
func (c *Client) Close() {
	_ = c.ws.Close() // It may be closed already.
	<-c.done
}

// Done is closed when the socket has ended; Err says how.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is the error that ended the socket: a *websocket.CloseError where the server closed it.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Subscribe asks for a showing's map, from the beginning.
func (c *Client) Subscribe(showing uuid.UUID) error {
	return c.Send(fmt.Sprintf(`{"type":"subscribe","showing":%q}`, showing))
}

// Resume asks for what changed since from, a map that this client or an earlier one had. A delta in
// answer means that the map is not stale, unless a message says so.
func (c *Client) Resume(showing uuid.UUID, from Map) error {
	m := copyOf(from)
	m.Stale = false
	c.mu.Lock()
	c.maps[showing] = &followed{Map: m, whole: true}
	c.mu.Unlock()
	return c.Send(fmt.Sprintf(`{"type":"subscribe","showing":%q,"log":%q,"since":%d}`, showing, from.Log, from.Seq))
}

// Unsubscribe asks for no more of a showing.
func (c *Client) Unsubscribe(showing uuid.UUID) error {
	return c.Send(fmt.Sprintf(`{"type":"unsubscribe","showing":%q}`, showing))
}

// Send sends a text message as it is.
func (c *Client) Send(message string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.ws.WriteMessage(websocket.TextMessage, []byte(message))
}

// Map is a showing's map as it is now; false before the first answer and after a gap.
func (c *Client) Map(showing uuid.UUID) (Map, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mapLocked(showing)
}

func (c *Client) mapLocked(showing uuid.UUID) (Map, bool) {
	m := c.maps[showing]
	if m == nil || !m.whole {
		return Map{}, false
	}
	return copyOf(m.Map), true
}

// WaitMap waits until a showing's map is as wanted, and returns it.
func (c *Client) WaitMap(ctx context.Context, showing uuid.UUID, wanted func(Map) bool) (Map, error) {
	var found Map
	err := c.wait(ctx, func() bool {
		m, ok := c.mapLocked(showing)
		found = m
		return ok && wanted(m)
	})
	if err != nil {
		return Map{}, fmt.Errorf("realtimetest: showing %s at seq %d: %w", showing, found.Seq, err)
	}
	return found, nil
}

// WaitSeq waits until a showing's map has reached seq.
func (c *Client) WaitSeq(ctx context.Context, showing uuid.UUID, seq int64) (Map, error) {
	return c.WaitMap(ctx, showing, func(m Map) bool { return m.Seq >= seq })
}

// WaitBooking waits for the nth booking message, counted from 1, and returns its booking.
func (c *Client) WaitBooking(ctx context.Context, n int) (json.RawMessage, error) {
	if err := c.wait(ctx, func() bool { return len(c.bookings) >= n }); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bookings[n-1], nil
}

// WaitProblem waits for the nth error message, counted from 1.
func (c *Client) WaitProblem(ctx context.Context, n int) (Problem, error) {
	if err := c.wait(ctx, func() bool { return len(c.problems) >= n }); err != nil {
		return Problem{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problems[n-1], nil
}

// WaitPong waits for the nth pong, counted from 1.
func (c *Client) WaitPong(ctx context.Context, n int) error {
	return c.wait(ctx, func() bool { return c.pongs >= n })
}

// WaitBye waits until the socket has ended, and returns the goodbye that came before, if one did.
func (c *Client) WaitBye(ctx context.Context) (Bye, bool, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		return Bye{}, false, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bye == nil {
		return Bye{}, false, nil
	}
	return *c.bye, true, nil
}

// Gaps is how often a delta did not follow on what came before.
func (c *Client) Gaps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gaps
}

// errEnded is what waiting for more returns when the socket has ended.
var errEnded = errors.New("realtimetest: the socket has ended")

// wait returns when there is what it waits for, ctx ends or the socket does. there is called with
// the client locked.
func (c *Client) wait(ctx context.Context, there func() bool) error {
	for {
		c.mu.Lock()
		found, changed := there(), c.changed
		c.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return c.ended(there)
		}
	}
}

// ended is what waiting comes to when the socket has ended.
func (c *Client) ended(there func() bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there() {
		return nil
	}
	return errors.Join(errEnded, c.err)
}

func (c *Client) ping() {
	every := time.NewTicker(c.opts.PingEvery)
	defer every.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-every.C:
			_ = c.Send(`{"type":"ping"}`) // The reader sees a broken line.
		}
	}
}

func copyOf(m Map) Map {
	seats := make(map[string]string, len(m.Seats))
	maps.Copy(seats, m.Seats)
	m.Seats = seats
	return m
}
