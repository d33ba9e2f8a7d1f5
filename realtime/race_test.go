package realtime_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

// checked is a client's view that compares itself with the source at every seq it comes by.
type checked struct {
	mu    sync.Mutex
	wrong []string
}

func (k *checked) options(s *source) realtimetest.Options {
	return realtimetest.Options{Observe: func(_ uuid.UUID, m realtimetestMap) {
		if want := s.at(m.Seq); !maps.Equal(want, m.Seats) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.wrong = append(k.wrong, fmt.Sprintf("at seq %d: %v, want %v", m.Seq, m.Seats, want))
		}
	}}
}

func (k *checked) requireRight(t require.TestingT) {
	k.mu.Lock()
	defer k.mu.Unlock()
	require.Empty(t, k.wrong)
}

// Subscribing races with changes: what snapshot and deltas say together misses nothing and repeats
// nothing, at every seq that anyone sees.
func TestSubscribeRacesWithChanges(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(40)
	const joins = 300
	var k checked
	joined := make(chan struct{})
	var work errgroup.Group
	work.Go(func() error {
		every := time.NewTicker(200 * time.Microsecond)
		defer every.Stop()
		for i := 0; ; i++ {
			s.change([]string{"held", "sold", "available"}[i%3], fmt.Sprintf("S%d", i%40), fmt.Sprintf("S%d", (i*7+1)%40))
			select {
			case <-joined:
				return nil
			case <-every.C:
			}
		}
	})
	clients := make([]*client, joins)
	var dials errgroup.Group
	dials.SetLimit(16)
	for i := range joins {
		dials.Go(func() error {
			c, err := realtimetest.Dial(t.Context(), h.url, k.options(s))
			if err != nil {
				return err
			}
			clients[i] = c
			return c.Subscribe(s.showing)
		})
	}
	require.NoError(t, dials.Wait())
	close(joined)
	require.NoError(t, work.Wait())
	s.change("blocked", "S0")
	for _, c := range clients {
		requireSame(t, s, c)
		require.Zero(t, c.Gaps())
	}
	k.requireRight(t)
	for _, c := range clients {
		c.Close()
	}
}

// The map moves on right after it was read for a newcomer, before it is read for all once more: all
// end up at the same seq, and a newcomer who resumes gets one delta.
func TestMapMovesOnWhileNewcomersAreLetIn(t *testing.T) {
	t.Parallel()
	const (
		fresh  = `{"type":"subscribe","showing":%q}`
		resume = `{"type":"subscribe","showing":%q,"log":"k3f9","since":2}`
	)
	change := func(s *source) { s.change("available", "S1") }
	restore := func(s *source) { s.renew("x7q2", 9) }
	stale := func(s *source) { s.setStale(true) }
	for name, c := range map[string]struct {
		subscribe string
		from      int64
		move      func(*source)
		newcomer  []string
		member    string
	}{
		"fresh, a change": {fresh, wholeMap, change, []string{
			`{"type":"snapshot","showing":%q,"log":"k3f9","seq":3,"stale":false,"seats":{"S0":"held","S1":"sold"}}`,
			`{"type":"delta","showing":%q,"prev":3,"seq":4,"seats":{"S1":"available"}}`,
		}, `{"type":"delta","showing":%q,"prev":3,"seq":4,"seats":{"S1":"available"}}`},
		"resumed, a change": {resume, 2, change, []string{
			`{"type":"delta","showing":%q,"prev":2,"seq":4,"seats":{"S1":"available"}}`,
		}, `{"type":"delta","showing":%q,"prev":3,"seq":4,"seats":{"S1":"available"}}`},
		"fresh, another log": {fresh, wholeMap, restore, []string{
			`{"type":"snapshot","showing":%q,"log":"x7q2","seq":9,"stale":false,"seats":{"S0":"held","S1":"sold"}}`,
		}, `{"type":"snapshot","showing":%q,"log":"x7q2","seq":9,"stale":false,"seats":{"S0":"held","S1":"sold"}}`},
		"resumed, another log": {resume, 2, restore, []string{
			`{"type":"snapshot","showing":%q,"log":"x7q2","seq":9,"stale":false,"seats":{"S0":"held","S1":"sold"}}`,
		}, `{"type":"snapshot","showing":%q,"log":"x7q2","seq":9,"stale":false,"seats":{"S0":"held","S1":"sold"}}`},
		"fresh, it goes stale": {fresh, wholeMap, stale, []string{
			`{"type":"snapshot","showing":%q,"log":"k3f9","seq":3,"stale":false,"seats":{"S0":"held","S1":"sold"}}`,
			`{"type":"stale","showing":%q,"stale":true}`,
		}, `{"type":"stale","showing":%q,"stale":true}`},
		"resumed, it goes stale": {resume, 2, stale, []string{
			`{"type":"delta","showing":%q,"prev":2,"seq":3,"seats":{"S1":"sold"}}`,
			`{"type":"stale","showing":%q,"stale":true}`,
		}, `{"type":"stale","showing":%q,"stale":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, realtime.Config{})
			s := h.add(2)
			s.change("held", "S0")
			s.change("sold", "S1")
			member := h.raw(t)
			member.send(fresh, s.showing)
			member.next()
			s.afterRead(c.from, func() { c.move(s) })
			newcomer := h.raw(t)
			newcomer.send(c.subscribe, s.showing)
			member.wants(c.member, s.showing)
			for _, want := range c.newcomer {
				newcomer.wants(want, s.showing)
			}
			for _, socket := range []raw{member, newcomer} {
				socket.send(`{"type":"ping"}`)
				socket.wants(`{"type":"pong"}`)
			}
		})
	}
}

// Whatever happens in whatever order, whoever applies the messages in order has the map, sees no
// gap, and at every seq on the way what the map was then.
func TestAnyOrderOfEventsLeavesEveryClientWithTheMap(t *testing.T) {
	t.Parallel()
	// One client may be picked more than 20 times in a second; the limit has tests of its own.
	h := open(t, realtime.Config{MessagesPerSecond: 10_000})
	rapid.Check(t, func(rt *rapid.T) {
		p := &play{t: t, rt: rt, house: h, source: h.add(6), logs: 1}
		defer p.close()
		rt.Repeat(map[string]func(*rapid.T){
			"change":      p.change,
			"join":        p.join,
			"hang up":     p.hangUp,
			"resume":      p.resume,
			"subscribe":   p.subscribe,
			"unsubscribe": p.unsubscribe,
			"stale":       p.stale,
			"forget":      p.forget,
			"restore":     p.restore,
			"map ends":    func(*rapid.T) { p.source.end() },
		})
		for _, c := range p.clients {
			requireSame(t, p.source, c)
			require.Zero(rt, c.Gaps())
		}
		p.checked.requireRight(rt)
	})
}

// play is one run of events on one showing.
type play struct {
	t       *testing.T
	rt      *rapid.T
	house   *house
	source  *source
	logs    int
	clients []*client
	checked checked
	// left are maps that clients had when they hung up.
	left []realtimetestMap
}

func (p *play) options() realtimetest.Options {
	if p.logs > 1 {
		return realtimetest.Options{} // The source keeps the past of one log only.
	}
	return p.checked.options(p.source)
}

func (p *play) dial() *client {
	c, err := realtimetest.Dial(p.t.Context(), p.house.url, p.options())
	require.NoError(p.rt, err)
	return c
}

func (p *play) pick(rt *rapid.T) *client {
	if len(p.clients) == 0 {
		rt.Skip("nobody there")
	}
	return p.clients[rapid.IntRange(0, len(p.clients)-1).Draw(rt, "client")]
}

func (p *play) change(rt *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(rt, "changes") {
		seats := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"S0", "S1", "S2", "S3", "S4", "S5"}), 1, 3, rapid.ID[string]).Draw(rt, "seats")
		p.source.change(rapid.SampledFrom([]string{"available", "held", "sold"}).Draw(rt, "status"), seats...)
	}
}

func (p *play) join(rt *rapid.T) {
	if len(p.clients) == 8 {
		rt.Skip("enough are there")
	}
	c := p.dial()
	require.NoError(rt, c.Subscribe(p.source.showing))
	p.clients = append(p.clients, c)
}

func (p *play) hangUp(rt *rapid.T) {
	c := p.pick(rt)
	if m, ok := c.Map(p.source.showing); ok {
		p.left = append(p.left, m)
	}
	c.Close()
	p.clients = slices.DeleteFunc(p.clients, func(other *client) bool { return other == c })
}

func (p *play) resume(rt *rapid.T) {
	if len(p.left) == 0 || len(p.clients) == 8 {
		rt.Skip("nobody left, or enough are there")
	}
	c := p.dial()
	require.NoError(rt, c.Resume(p.source.showing, rapid.SampledFrom(p.left).Draw(rt, "map")))
	p.clients = append(p.clients, c)
}

func (p *play) subscribe(rt *rapid.T) {
	c := p.pick(rt)
	require.NoError(rt, c.Subscribe(p.source.showing))
}

// unsubscribe is followed by a subscribe, so that the client has the map at the end.
func (p *play) unsubscribe(rt *rapid.T) {
	c := p.pick(rt)
	require.NoError(rt, c.Unsubscribe(p.source.showing))
	require.NoError(rt, c.Subscribe(p.source.showing))
}

func (p *play) stale(rt *rapid.T) { p.source.setStale(rapid.Bool().Draw(rt, "stale")) }

func (p *play) forget(*rapid.T) { p.source.forget(p.source.now().Seq) }

// restore gives the log another id; what was seen of the old one is not comparable any more.
func (p *play) restore(rt *rapid.T) {
	if p.logs == 1 {
		for _, c := range p.clients {
			requireSame(p.t, p.source, c)
			c.Close()
		}
		p.clients = nil
		p.checked.requireRight(rt)
	}
	p.logs++
	p.source.renew(fmt.Sprintf("log%d", p.logs), rapid.Int64Range(1, 5).Draw(rt, "seq"))
}

func (p *play) close() {
	for _, c := range p.clients {
		c.Close()
	}
}

// Two clients of every kind keep on coming and going while seats change.
func TestComingAndGoingWhileSeatsChange(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{Writers: 3})
	s := h.add(20)
	var k checked
	var work errgroup.Group
	done := make(chan struct{})
	for range 8 {
		work.Go(func() error {
			from, known := realtimetestMap{}, false
			for {
				select {
				case <-done:
					return nil
				default:
				}
				c, err := realtimetest.Dial(t.Context(), h.url, k.options(s))
				if err != nil {
					return err
				}
				if known {
					err = c.Resume(s.showing, from)
				} else {
					err = c.Subscribe(s.showing)
				}
				if err == nil {
					from, err = c.WaitSeq(t.Context(), s.showing, from.Seq+rand.Int64N(3))
				}
				c.Close()
				if err != nil {
					return err
				}
				known = true
			}
		})
	}
	stays := h.dialWith(t, k.options(s))
	require.NoError(t, stays.Subscribe(s.showing))
	for i := range 2000 {
		seq := s.change([]string{"held", "available"}[i%2], fmt.Sprintf("S%d", i%20))
		if i%50 == 0 {
			_, err := stays.WaitSeq(t.Context(), s.showing, seq)
			require.NoError(t, err)
		}
	}
	close(done)
	for range 3 { // Those who wait for more get it.
		s.change("sold", "S0")
	}
	require.NoError(t, work.Wait())
	requireSame(t, s, stays)
	k.requireRight(t)
}
