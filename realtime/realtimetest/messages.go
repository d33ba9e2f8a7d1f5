package realtimetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// message has the fields of every message that the server sends.
type message struct {
	Type       string            `json:"type"`
	Showing    string            `json:"showing"`
	Log        string            `json:"log"`
	Prev       int64             `json:"prev"`
	Seq        int64             `json:"seq"`
	Stale      bool              `json:"stale"`
	Seats      map[string]string `json:"seats"`
	Booking    json.RawMessage   `json:"booking"`
	Code       string            `json:"code"`
	Detail     string            `json:"detail"`
	Reason     string            `json:"reason"`
	RetryAfter int64             `json:"retry_after_ms"`
}

// read takes messages until the socket ends.
func (c *Client) read() {
	defer close(c.done)
	defer func() { _ = c.ws.Close() }()
	for {
		kind, data, err := c.ws.ReadMessage()
		if err == nil && kind != websocket.TextMessage {
			err = fmt.Errorf("realtimetest: a message of kind %d, want text", kind)
		}
		var m message
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err == nil {
			err = c.apply(m)
		}
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
	}
}

// apply takes one message in.
func (c *Client) apply(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		close(c.changed)
		c.changed = make(chan struct{})
	}()
	switch m.Type {
	case "snapshot", "delta", "stale":
		return c.applyMap(m)
	case "booking":
		c.bookings = append(c.bookings, m.Booking)
	case "pong":
		c.pongs++
	case "error":
		c.problems = append(c.problems, Problem{Code: m.Code, Detail: m.Detail, Showing: m.Showing})
	case "bye":
		c.bye = &Bye{Reason: m.Reason, RetryAfter: time.Duration(m.RetryAfter) * time.Millisecond}
	default:
		return fmt.Errorf("realtimetest: a message of unknown type %q", m.Type)
	}
	return nil
}

func (c *Client) applyMap(m message) error {
	showing, err := uuid.Parse(m.Showing)
	if err != nil {
		return fmt.Errorf("realtimetest: showing %q: %w", m.Showing, err)
	}
	known := c.maps[showing]
	if known == nil {
		known = &followed{}
		c.maps[showing] = known
	}
	switch m.Type {
	case "snapshot":
		*known = followed{Map: Map{Log: m.Log, Seq: m.Seq, Stale: m.Stale, Seats: m.Seats}, whole: true}
	case "stale":
		known.Stale = m.Stale
	case "delta":
		if !known.whole {
			return nil // It asked for a snapshot, which is on its way.
		}
		if m.Prev != known.Seq {
			known.whole = false
			c.gaps++
			return c.Subscribe(showing)
		}
		known.Seq = m.Seq
		maps.Copy(known.Seats, m.Seats)
	}
	if known.whole && c.opts.Observe != nil {
		c.opts.Observe(showing, known.Map)
	}
	return nil
}
