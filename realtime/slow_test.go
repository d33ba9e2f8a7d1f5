package realtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aislehq/aisle/realtime"
)

// narrow dials with a small window, so that a client that stops reading is felt soon.
func narrow() *websocket.Dialer {
	return &websocket.Dialer{
		Subprotocols: []string{"aisle.v1"},
		NetDial: func(network, address string) (net.Conn, error) {
			c, err := net.Dial(network, address)
			if err == nil {
				err = c.(*net.TCPConn).SetReadBuffer(4096)
			}
			return c, err
		},
	}
}

// flip changes all of a large hall, which makes a large delta.
func flip(s *source, seats, i int) int64 {
	all := make([]string, seats)
	for n := range all {
		all[n] = fmt.Sprintf("S%d", n)
	}
	return s.change([]string{"held", "available"}[i%2], all...)
}

// A client that stops reading is closed with a bye, as far as it still gets through, and everyone
// else has every change as if it were not there.
func TestClientThatStopsReadingIsClosedAsSlow(t *testing.T) {
	t.Parallel()
	const seats = 300
	h := open(t, realtime.Config{QueueFrames: 8, QueueBytes: 1 << 30, Writers: 1, GoodbyeTimeout: 10 * time.Second})
	s := h.add(seats)
	slow := h.rawWith(t, narrow())
	slow.send(`{"type":"subscribe","showing":%q}`, s.showing)
	slow.next()
	others := make([]*client, 20)
	for i := range others {
		others[i] = h.watch(t, s)
	}

	for i := 0; h.dropped() == 0; i++ {
		require.Less(t, i, 1000, "the slow one is never noticed")
		seq := flip(s, seats, i)
		for _, c := range others {
			_, err := c.WaitSeq(t.Context(), s.showing, seq)
			require.NoError(t, err)
		}
	}
	// It reads again: whole messages in order, then why it is sent away and when to come back.
	seq := int64(1)
	for {
		var m struct {
			Type, Reason string
			Prev, Seq    int64
			RetryAfter   int `json:"retry_after_ms"`
		}
		require.NoError(t, json.Unmarshal([]byte(slow.next()), &m))
		if m.Type == "bye" {
			require.Equal(t, "slow", m.Reason)
			require.GreaterOrEqual(t, m.RetryAfter, 1000)
			require.Less(t, m.RetryAfter, 2000)
			break
		}
		require.Equal(t, "delta", m.Type)
		require.Equal(t, seq, m.Prev)
		seq = m.Seq
	}
	slow.wantsClose(realtime.CloseSlow)
	for _, c := range others {
		requireSame(t, s, c)
		require.Zero(t, c.Gaps())
	}
	require.NoError(t, slow.ws.Close())
	require.Eventually(t, func() bool { return h.counts.of(h.counts.closed, "slow") == 1 }, 5*time.Second, time.Millisecond)
}

func (h *house) dropped() int {
	h.counts.mu.Lock()
	defer h.counts.mu.Unlock()
	return h.counts.dropped
}

// Of a client that never reads again not even the goodbye gets through: it ends all the same.
func TestClientThatNeverReadsAgainIsGone(t *testing.T) {
	t.Parallel()
	const seats = 2000
	for name, cfg := range map[string]realtime.Config{
		"its queue overflows":        {QueueFrames: 4, QueueBytes: 1 << 30, GoodbyeTimeout: 200 * time.Millisecond, WriteTimeout: time.Hour},
		"the bytes it waits for too": {QueueBytes: 50_000, QueueFrames: 1000, GoodbyeTimeout: 200 * time.Millisecond, WriteTimeout: time.Hour},
		"its write takes too long":   {WriteTimeout: 200 * time.Millisecond, QueueFrames: 1000, QueueBytes: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, cfg)
			s := h.add(seats)
			slow := h.rawWith(t, narrow())
			slow.send(`{"type":"subscribe","showing":%q}`, s.showing)
			slow.next()
			for i := 0; i < 100 && h.hub.Sockets() == 1 && h.dropped() == 0; i++ {
				seq := flip(s, seats, i)
				require.Eventually(t, func() bool { return h.hub.Rooms() == 0 || s.asked() >= int(seq)-1 }, 5*time.Second, 100*time.Microsecond)
			}
			require.Eventually(t, func() bool { return h.hub.Sockets() == 0 && h.hub.Rooms() == 0 }, 10*time.Second, time.Millisecond)
			require.Equal(t, 1, h.counts.of(h.counts.closed, "slow"))
		})
	}
}

// One message may be larger than the queue: it is taken where nothing waits. It also is written in
// many pieces, none of which is lost or comes twice.
func TestMessageLargerThanTheQueue(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{QueueBytes: 1000})
	s := h.add(2000)
	c := h.rawWith(t, narrow())
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	var m struct {
		Type  string
		Seats map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(c.next()), &m))
	require.Equal(t, "snapshot", m.Type)
	require.Equal(t, s.now().Seats, m.Seats)
	s.change("held", "S1")
	c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S1":"held"}}`, s.showing)
}

// The line breaks while messages go out: the hub notices, forgets the socket and does not panic,
// however much is still sent to it.
func TestWritingToABrokenLine(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(500)
	var sockets []raw
	for range 50 {
		c := h.rawWith(t, narrow())
		c.send(`{"type":"subscribe","showing":%q}`, s.showing)
		c.next()
		sockets = append(sockets, c)
	}
	stays := h.watch(t, s)
	for i, c := range sockets {
		flip(s, 500, i)
		tcp, ok := c.ws.NetConn().(*net.TCPConn)
		require.True(t, ok)
		require.NoError(t, tcp.SetLinger(0)) // A reset, not a goodbye.
		require.NoError(t, c.ws.Close())
		_, err := stays.WaitSeq(t.Context(), s.showing, flip(s, 500, i+1))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return h.hub.Sockets() == 1 }, 5*time.Second, time.Millisecond)
	require.Zero(t, stays.Gaps())
	requireSame(t, s, stays)
}

// A client that is silent is closed, one that pings is not.
func TestSilentLineIsClosedAsIdle(t *testing.T) {
	t.Parallel()
	require.Equal(t, 75*time.Second, realtime.Config{}.WithDefaults().IdleTimeout)
	h := open(t, realtime.Config{IdleTimeout: 1500 * time.Millisecond})
	alive, silent := h.raw(t), h.raw(t)
	protocol := h.raw(t)
	pinged := make(chan struct{}, 1)
	protocol.ws.SetPongHandler(func(string) error { pinged <- struct{}{}; return nil })
	go func() { _, _, _ = protocol.ws.ReadMessage() }()

	over := make(chan struct{})
	go func() {
		defer close(over)
		silent.wants(`{"type":"bye","reason":"idle","retry_after_ms":0}`)
		silent.wantsClose(realtime.CloseIdle)
	}()
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for waiting := true; waiting; {
		select {
		case <-over:
			waiting = false
		case <-every.C:
			alive.send(`{"type":"ping"}`)
			alive.wants(`{"type":"pong"}`)
			require.NoError(t, protocol.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)))
			<-pinged
		}
	}
	require.NoError(t, silent.ws.Close())
	require.Eventually(t, func() bool { return h.counts.of(h.counts.closed, "idle") == 1 }, 5*time.Second, time.Millisecond)
	require.Equal(t, 2, h.hub.Sockets())
	require.NoError(t, protocol.ws.Close())
}

// While messages are on their way to the sockets, what changes is joined into one delta.
func TestChangesDuringABroadcastAreJoined(t *testing.T) {
	t.Parallel()
	var landings atomic.Int32
	joined, held, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	deltas := make(chan int, 10)
	h := open(t, realtime.Config{Writers: 1, Metrics: realtime.Metrics{
		Broadcast: func(time.Duration, int) { // The only writer calls it: for the snapshot, then for the first delta.
			switch landings.Add(1) {
			case 1:
				close(joined)
			case 2:
				close(held)
				<-release
			}
		},
		Frames: func(kind string, n int) {
			if kind == "delta" {
				deltas <- n
			}
		},
	}})
	var once sync.Once
	goOn := func() { once.Do(func() { close(release) }) }
	t.Cleanup(goOn) // A writer that stands still would hold up the hub's end.
	s := h.add(4)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.next()
	<-joined // The client may have its snapshot before the writer says so.
	s.change("held", "S0")
	c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S0":"held"}}`, s.showing)
	require.Equal(t, 1, <-deltas)
	<-held // The writer stands still. One more message may be given to it, and is under way from then on.
	s.change("held", "S1")
	require.Equal(t, 1, <-deltas)
	for _, change := range [][2]string{{"held", "S2"}, {"sold", "S1"}, {"held", "S3"}} {
		s.change(change[0], change[1])
		// The room hears of each by itself, and has done what it does about one when it hears the next.
		require.Eventually(t, s.heard, 10*time.Second, 100*time.Microsecond)
	}
	goOn()
	c.wants(`{"type":"delta","showing":%q,"prev":2,"seq":3,"seats":{"S1":"held"}}`, s.showing)
	c.wants(`{"type":"delta","showing":%q,"prev":3,"seq":6,"seats":{"S1":"sold","S2":"held","S3":"held"}}`, s.showing)
}

// A change is taken from the map and encoded once, however many sockets look.
func TestOneChangeIsTakenOnceForAll(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	clients := make([]*client, 100)
	for i := range clients {
		clients[i] = h.watch(t, s)
	}
	before := s.asked()
	seq := s.change("held", "S0")
	for _, c := range clients {
		_, err := c.WaitSeq(t.Context(), s.showing, seq)
		require.NoError(t, err)
	}
	require.Less(t, s.asked()-before, 10, "a few times for the room, not once for each socket")
}

// Nothing of a hub is left when Run has returned.
func TestNothingIsLeftOfAHub(t *testing.T) { //nolint:paralleltest // It looks at all goroutines.
	before := goleak.IgnoreCurrent()
	h := open(t, realtime.Config{})
	s := h.add(1)
	s.catching = make(chan int64)
	for i := range 5 {
		c := h.raw(t)
		c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":%d}`, s.showing, i)
		go func() {
			for {
				if _, _, err := c.ws.ReadMessage(); err != nil {
					_ = c.ws.Close()
					return
				}
			}
		}()
	}
	require.Eventually(t, func() bool { return h.opened() == 1 }, 5*time.Second, time.Millisecond)
	h.fail(errors.New("gone"))
	h.stop()
	require.Zero(t, h.opened())
	goleak.VerifyNone(t, before)
}
