package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"
)

// Hub owns all sockets of a replica, and the rooms that they watch. See the package's comment.
type Hub struct {
	cfg      Config
	maps     Maps
	upgrader websocket.Upgrader
	buffers  sync.Pool
	pong     *frame
	shards   []*shard
	ready    chan struct{}

	// life ends when Run is over; rooms and writers live in it. Set before ready is closed.
	life context.Context
	// readers, roomRuns and waiters count the goroutines of sockets, rooms and waiting writes.
	readers, roomRuns, waiters sync.WaitGroup

	mu        sync.Mutex
	state     hubState
	conns     map[*conn]struct{}
	sessions  map[uuid.UUID][]*conn
	addresses map[string]int
	// taken counts sockets from before their upgrade on; nextShard deals them out.
	taken, nextShard int
	rooms            map[uuid.UUID]*room
}

type hubState int

const (
	stateNew hubState = iota
	stateRunning
	stateDraining
)

// ErrRunOnce is what Run returns when it is called again.
var ErrRunOnce = errors.New("realtime: a hub runs once")

// NewHub makes a hub that shows maps; it takes sockets while Run runs. It fails on settings that
// can't be.
func NewHub(cfg Config, maps Maps) (*Hub, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	h := &Hub{
		cfg: cfg, maps: maps, pong: pongFrame(), ready: make(chan struct{}),
		conns:     make(map[*conn]struct{}),
		sessions:  make(map[uuid.UUID][]*conn),
		addresses: make(map[string]int),
		rooms:     make(map[uuid.UUID]*room),
	}
	h.upgrader = h.newUpgrader()
	for range cfg.Writers {
		h.shards = append(h.shards, newShard())
	}
	return h, nil
}

// Run takes sockets until ctx ends, then drains. It returns when every socket, room and goroutine
// of the hub is gone: at most DrainTimeout after ctx's end, and what closing takes. A hub runs once.
func (h *Hub) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if !h.begin(life) {
		return ErrRunOnce
	}
	var writers errgroup.Group
	for _, s := range h.shards {
		writers.Go(func() error { return s.run(life) })
	}
	close(h.ready)
	<-ctx.Done()

	drain, cancel := context.WithTimeout(life, h.cfg.DrainTimeout)
	defer cancel()
	h.Drain(drain)
	end()
	h.roomRuns.Wait()
	err := writers.Wait()
	h.waiters.Wait()
	return err
}

func (h *Hub) begin(life context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life != nil {
		return false
	}
	h.life = life
	if h.state == stateNew {
		h.state = stateRunning
	}
	return true
}

// Ready is closed when Run takes sockets. Before that Serve answers 503.
func (h *Hub) Ready() <-chan struct{} { return h.ready }

// Drain refuses new sockets from now on, sends every open one away with a time of its own to come
// back, and returns when all are closed. When ctx ends before, it cuts off what is left.
func (h *Hub) Drain(ctx context.Context) {
	leaving := h.startDrain()
	if len(leaving) > 0 {
		h.cfg.Logger.InfoContext(ctx, "sending sockets away", slog.Int("sockets", len(leaving)))
	}
	for i, delay := range spread(len(leaving), h.cfg.ReconnectsPerSecond) {
		leaving[i].close(byeDraining(delay))
	}
	gone := make(chan struct{})
	go func() {
		h.readers.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		h.cutOff()
		<-gone
	}
}

func (h *Hub) startDrain() []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = stateDraining
	leaving := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		leaving = append(leaving, c)
	}
	return leaving
}

func (h *Hub) cutOff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		_ = c.net.Close() // Its reader notices.
	}
}

// minSpread is the shortest time over which sockets that are sent away come back.
const minSpread = time.Second

// spread gives n sockets their times to come back: evenly over n/perSecond seconds, at least over
// one, and in no order that says who connected first.
func spread(n, perSecond int) []time.Duration {
	window := max(minSpread, time.Duration(n)*time.Second/time.Duration(perSecond))
	delays := make([]time.Duration, n)
	for i, place := range rand.Perm(n) { //nolint:gosec // Spreading out clients needs no secret.
		delays[i] = time.Duration(place+1) * window / time.Duration(n)
	}
	return delays
}

// Sockets is how many sockets are open.
func (h *Hub) Sockets() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// Rooms is how many showings are being watched.
func (h *Hub) Rooms() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.rooms)
}

// Sessions lists the sessions that have an open socket.
func (h *Hub) Sessions() []uuid.UUID {
	h.mu.Lock()
	defer h.mu.Unlock()
	sessions := make([]uuid.UUID, 0, len(h.sessions))
	for session := range h.sessions {
		sessions = append(sessions, session)
	}
	return sessions
}

// SendBooking sends a booking, as JSON, to all sockets of its session on this replica.
func (h *Hub) SendBooking(session uuid.UUID, booking json.RawMessage) {
	sockets := h.ofSession(session)
	if len(sockets) == 0 {
		return
	}
	f, err := bookingFrame(booking)
	if err != nil {
		h.cfg.Logger.ErrorContext(h.life, "a booking was not sent", slog.Any("error", err))
		return
	}
	for _, c := range sockets {
		c.send(f)
	}
	h.cfg.Metrics.Frames("booking", len(sockets))
}

// EndSession says goodbye to all sockets of a session that was ended.
func (h *Hub) EndSession(session uuid.UUID) {
	for _, c := range h.ofSession(session) {
		c.close(byeSessionEnded())
	}
}

func (h *Hub) ofSession(session uuid.UUID) []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*conn(nil), h.sessions[session]...)
}

// join brings a socket into the room of a showing, which begins with its first socket.
func (h *Hub) join(c *conn, showing uuid.UUID, from resume) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[showing]
	if r == nil {
		r = newRoom(h, showing)
		h.rooms[showing] = r
		h.roomRuns.Go(func() { r.run(h.life) })
	}
	c.joined(r)
	r.post(request{conn: c, resume: from})
}

// leaveEmpty ends a room that nobody is in or on the way to, and says whether it did.
func (h *Hub) leaveEmpty(r *room) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !r.isEmpty() {
		return false
	}
	delete(h.rooms, r.showing)
	return true
}
