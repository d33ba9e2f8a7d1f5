package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// watcher keeps one showing's map. Its goroutine reads; only the pings are another's.
type watcher struct {
	all    *Watchers
	number int
	house  *house
	rng    *rand.Rand
	line   atomic.Pointer[line] // nil: none is open
	last   string               // the replica it was last connected to
	had    bool                 // a line before

	mu       sync.Mutex // guards the map, which is changed by the goroutine alone
	log      string     // "": there is no map yet
	seq      int64
	stale    bool
	live     bool
	statuses []status // by the house's index
	since    time.Time
}

// status of a seat, small.
type status uint8

const (
	statusAvailable status = iota
	statusHeld
	statusSold
	statusBlocked
)

func (s status) String() string {
	switch s {
	case statusHeld:
		return "held"
	case statusSold:
		return "sold"
	case statusBlocked:
		return "blocked"
	default:
		return available
	}
}

func parseStatus(text []byte) (status, bool) {
	switch string(text) {
	case "available":
		return statusAvailable, true
	case "held":
		return statusHeld, true
	case "sold":
		return statusSold, true
	case "blocked":
		return statusBlocked, true
	default:
		return 0, false
	}
}

func newWatcher(all *Watchers, number int, h *house) *watcher {
	return &watcher{
		all: all, number: number, house: h,
		rng: rand.New(rand.NewPCG(all.cfg.Seed, uint64(number))), //nolint:gosec // a run can be run again from its seed
	}
}

func (w *watcher) wrong(invariant, format string, args ...any) {
	w.all.seen.add(invariant, "watcher %d of showing %s at %s: %s", w.number, w.house.showing, w.last, fmt.Sprintf(format, args...))
}

// run connects, and connects again, until ctx ends.
func (w *watcher) run(ctx context.Context) {
	// A thousand handshakes at once are nothing that browsers do.
	if wait(ctx, time.Duration(w.rng.Int64N(int64(w.all.n)*int64(time.Millisecond)))) != nil {
		return
	}
	var pause backoff
	for {
		end := w.connect(ctx)
		if end.answered {
			pause.reset()
		}
		rest := time.Duration(w.rng.Int64N(int64(pause.next(w.all.cfg.Backoff, w.all.cfg.MaxBackoff)) + 1))
		if end.bye {
			rest = end.retryAfter
		}
		if wait(ctx, rest) != nil {
			return
		}
	}
}

// end is how a line ended.
type end struct {
	answered   bool // its subscription was
	bye        bool // the server said that it would
	retryAfter time.Duration
}

// connect opens a line, to another replica than the last where there is one, and reads it to its end.
func (w *watcher) connect(ctx context.Context) end {
	w.last = w.other(w.all.cfg.Replicas())
	l, err := w.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.all.counters.failures.Add(1)
		}
		return end{}
	}
	if w.had {
		w.all.counters.reconnects.Add(1)
	}
	w.had = true
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		l.leave()
	})
	w.line.Store(l)
	defer func() {
		w.line.Store(nil)
		if !stop() {
			<-left
		}
		l.close()
		w.setLive(false)
	}()
	w.subscribe(l, true)
	return w.read(ctx, l)
}

// other is any of urls but the last.
func (w *watcher) other(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	i := w.rng.IntN(len(urls))
	if urls[i] == w.last {
		i += 1 + w.rng.IntN(max(len(urls)-1, 1))
	}
	return nth(urls, i)
}

// setLive says whether the map follows the showing.
func (w *watcher) setLive(live bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = live
}

func (w *watcher) isLive() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live
}

func (w *watcher) view() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := View{Watcher: w.number, Showing: w.house.showing, Log: w.log, Seq: w.seq, Stale: w.stale, Live: w.live, Since: w.since}
	if w.statuses != nil {
		v.Seats = make(map[string]string, len(w.statuses))
		for i, s := range w.statuses {
			v.Seats[w.house.seats[i]] = s.String()
		}
	}
	return v
}
