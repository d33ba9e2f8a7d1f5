package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

// stage is a server's side of the live protocol: each line that is opened is played by the next act, the last one again and again.
type stage struct {
	t    *testing.T
	o    *office
	acts []func(p *player)

	mu     sync.Mutex
	opened int
	lines  sync.WaitGroup
}

// player is the server's end of one line.
type player struct {
	t       *testing.T
	ws      *websocket.Conn
	showing uuid.UUID
}

// request is what a client sends.
type request struct {
	Type    string `json:"type"`
	Showing string `json:"showing"`
	Log     string `json:"log"`
	Since   *int64 `json:"since"`
}

func openStage(t *testing.T, acts ...func(p *player)) *stage {
	t.Helper()
	s := &stage{t: t, acts: acts}
	t.Cleanup(s.lines.Wait) // after the servers have closed: no line begins then
	s.o = openOffice(t, s.live)
	return s
}

func (s *stage) live(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/api/v1/live" {
		return false
	}
	s.lines.Add(1)
	defer s.lines.Done()
	upgrader := websocket.Upgrader{Subprotocols: []string{"aisle.v1"}}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return true
	}
	defer func() { _ = ws.Close() }()
	s.mu.Lock()
	act := s.acts[min(s.opened, len(s.acts)-1)]
	s.opened++
	s.mu.Unlock()
	act(&player{t: s.t, ws: ws, showing: s.o.showing})
	return true
}

// hear reads what the client says next; false: it has left.
func (p *player) hear() (request, bool) {
	var r request
	_, data, err := p.ws.ReadMessage()
	if err != nil || json.Unmarshal(data, &r) != nil {
		return r, false
	}
	return r, true
}

// expect hears until the client sends what is expected, and fails the test if it leaves first.
func (p *player) expect(want string) {
	for {
		r, ok := p.hear()
		if !ok {
			return
		}
		if r.Type == "ping" && want != "ping" {
			continue
		}
		got := r.Type
		if r.Since != nil {
			got = fmt.Sprintf("%s %s since %d", r.Type, r.Log, *r.Since)
		}
		if got != want {
			p.t.Errorf("the client said %q instead of %q", got, want)
		}
		return
	}
}

func (p *player) say(format string, args ...any) {
	message := strings.ReplaceAll(fmt.Sprintf(format, args...), "SHOWING", p.showing.String())
	_ = p.ws.WriteMessage(websocket.TextMessage, []byte(message))
}

// snapshot says that all seats are available but those given.
func (p *player) snapshot(log string, seq int, but map[string]string) {
	seats := make(map[string]string)
	for _, seat := range officeSeats() {
		seats[seat] = "available"
	}
	maps.Copy(seats, but)
	encoded, err := json.Marshal(seats)
	if err != nil {
		p.t.Error(err)
	}
	p.say(`{"type":"snapshot","showing":"SHOWING","log":%q,"seq":%d,"stale":false,"seats":%s}`, log, seq, encoded)
}

func (p *player) delta(prev, seq int, seats string) {
	p.say(`{"type":"delta","showing":"SHOWING","prev":%d,"seq":%d,"seats":%s}`, prev, seq, seats)
}

// rest answers pings until the client leaves.
func (p *player) rest() {
	for {
		if _, ok := p.hear(); !ok {
			return
		}
		p.say(`{"type":"pong"}`)
	}
}

func (p *player) bye(message string) {
	p.say("%s", message)
	_ = p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(time.Second))
}

// watch lets one watcher look at the stage until done says so, and fails the test if it does not within 3 s.
func watch(t *testing.T, s *stage, cfg client.WatchersConfig, done func(*client.Watchers) bool) *client.Watchers {
	t.Helper()
	cfg.Replicas = s.o.replicas
	cfg.Backoff, cfg.MaxBackoff = 5*time.Millisecond, 20*time.Millisecond
	w, err := client.NewWatchers(1, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, w.Run(ctx)) })
	ok := assertEventually(func() bool { return done(w) })
	views := w.Views()
	cancel()
	running.Wait()
	require.True(t, ok, "views %+v, stats %+v, violations %v", views, w.Stats(), w.Violations())
	return w
}

// assertEventually waits up to 3 s for what is.
func assertEventually(is func() bool) bool {
	end := time.NewTimer(3 * time.Second)
	defer end.Stop()
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	for !is() {
		select {
		case <-end.C:
			return false
		case <-ticks.C:
		}
	}
	return true
}

// at says whether the only watcher's map is at seq of log, and live.
func at(log string, seq int64) func(*client.Watchers) bool {
	return func(w *client.Watchers) bool {
		views := w.Views()
		return len(views) == 1 && views[0].Log == log && views[0].Seq == seq && views[0].Live
	}
}
