package client_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

func TestAWatcherHasTheMap(t *testing.T) {
	t.Parallel()
	s := openStage(t, func(p *player) {
		p.expect("subscribe")
		p.snapshot("k3f9", 41, map[string]string{"A2": "sold", "A3": "blocked"})
		p.delta(41, 44, `{"A1":"held","A2":"available"}`)
		p.say(`{"type":"stale","showing":"SHOWING","stale":true}`)
		p.delta(44, 45, `{"A1":"sold"}`)
		p.rest()
	})
	var view client.View
	w := watch(t, s, client.WatchersConfig{}, func(w *client.Watchers) bool {
		if !at("k3f9", 45)(w) {
			return false
		}
		view = w.Views()[0]
		return true
	})

	require.Empty(t, w.Violations())
	require.Equal(t, s.o.showing, view.Showing)
	require.True(t, view.Stale)
	require.WithinDuration(t, time.Now(), view.Since, 5*time.Second)
	require.Len(t, view.Seats, 100)
	require.Equal(t, "sold", view.Seats["A1"])
	require.Equal(t, "available", view.Seats["A2"])
	require.Equal(t, "blocked", view.Seats["A3"])
	require.Equal(t, "available", view.Seats["D10"])
	require.Equal(t, client.WatchersStats{Messages: 4}, w.Stats(), "nobody is live once the run is over")
}

// A delta is left out: the watcher counts the gap, asks for the map since what it has, and ends with the right one. What
// was under way when it asked again is nothing it goes by.
func TestASkippedDeltaIsAGap(t *testing.T) {
	t.Parallel()
	s := openStage(t, func(p *player) {
		p.expect("subscribe")
		p.snapshot("k3f9", 41, nil)
		p.delta(42, 43, `{"A2":"held"}`)
		p.delta(43, 44, `{"A3":"held"}`)
		p.expect("subscribe k3f9 since 41")
		p.delta(41, 44, `{"A1":"held","A2":"held","A3":"held"}`)
		p.delta(44, 45, `{"A1":"sold"}`)
		p.rest()
	})
	var view client.View
	w := watch(t, s, client.WatchersConfig{}, func(w *client.Watchers) bool {
		if !at("k3f9", 45)(w) {
			return false
		}
		view = w.Views()[0]
		return true
	})

	require.Equal(t, int64(1), w.Stats().Gaps)
	require.Equal(t, int64(1), w.Stats().Resumes)
	require.Len(t, w.Violations(), 1)
	require.Equal(t, client.WatchersRight, w.Violations()[0].Invariant)
	require.Contains(t, w.Violations()[0].Detail, "prev is not the seq before it, 41")
	require.Equal(t, "sold", view.Seats["A1"])
	require.Equal(t, "held", view.Seats["A2"])
	require.Equal(t, "held", view.Seats["A3"])
}

func TestASeqThatGoesBackIsAViolation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant func(p *player)
		seen  string
	}{
		"in a snapshot": {func(p *player) { p.snapshot("k3f9", 40, nil) }, "a snapshot at seq 40 after 41"},
		"in a delta":    {func(p *player) { p.delta(41, 39, `{"A1":"held"}`) }, "a delta from seq 41 to 39"},
		"standing":      {func(p *player) { p.delta(41, 41, `{"A1":"held"}`) }, "a delta from seq 41 to 41"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStage(t, func(p *player) {
				p.expect("subscribe")
				p.snapshot("k3f9", 41, nil)
				test.plant(p)
				p.rest()
			})
			w := watch(t, s, client.WatchersConfig{}, func(w *client.Watchers) bool { return len(w.Violations()) > 0 })
			require.Equal(t, client.NeverBack, w.Violations()[0].Invariant)
			require.Contains(t, w.Violations()[0].Detail, test.seen)
		})
	}
}

// A log restored from a backup begins anew, and so may a replica that is behind another: neither is a violation.
func TestASeqMayBeLowerInAnotherLogOrAtAnotherReplica(t *testing.T) {
	t.Parallel()
	s := openStage(t,
		func(p *player) {
			p.expect("subscribe")
			p.snapshot("k3f9", 41, nil)
			p.snapshot("restored", 7, nil)
		},
		func(p *player) {
			p.expect("subscribe restored since 7")
			p.snapshot("restored", 6, nil)
			p.rest()
		})
	w := watch(t, s, client.WatchersConfig{}, at("restored", 6))
	require.Empty(t, w.Violations())
	require.Equal(t, int64(1), w.Stats().Behind)
	require.Equal(t, int64(1), w.Stats().Reconnects)
}

func TestMessagesThatAreNotInTheProtocolAreViolations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant func(p *player)
		seen  string
	}{
		"a seat that does not exist":   {func(p *player) { p.delta(41, 42, `{"Z99":"held"}`) }, `a seat that does not exist, "Z99"`},
		"a status that does not exist": {func(p *player) { p.delta(41, 42, `{"A1":"gone"}`) }, `status "gone"`},
		"a delta without prev":         {func(p *player) { p.say(`{"type":"delta","showing":"SHOWING","seq":42,"seats":{}}`) }, "without prev"},
		"a snapshot with a seat less": {func(p *player) {
			p.say(`{"type":"snapshot","showing":"SHOWING","log":"k3f9","seq":42,"stale":false,"seats":{"A1":"held"}}`)
		}, "a snapshot without seat"},
		"a snapshot without a log":  {func(p *player) { p.snapshot("", 42, nil) }, "without log"},
		"another showing":           {func(p *player) { p.say(`{"type":"stale","showing":"other","stale":true}`) }, "not asked for"},
		"an unknown type":           {func(p *player) { p.say(`{"type":"surprise"}`) }, "unknown type"},
		"no JSON":                   {func(p *player) { p.say(`{"type":`) }, "not JSON"},
		"no text":                   {func(p *player) { _ = p.ws.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"pong"}`)) }, "no text"},
		"an error":                  {func(p *player) { p.say(`{"type":"error","code":"bad-message"}`) }, "an error that the watcher did not make"},
		"a booking":                 {func(p *player) { p.say(`{"type":"booking","booking":{}}`) }, "a booking"},
		"a bye for no known reason": {func(p *player) { p.bye(`{"type":"bye","reason":"tired","retry_after_ms":1}`) }, `bye for reason "tired"`},
		"a message after the bye": {func(p *player) {
			p.say(`{"type":"bye","reason":"draining","retry_after_ms":1}`)
			p.bye(`{"type":"pong"}`)
		}, "a message after the bye"},
		"a bye without a close frame": {func(p *player) {
			p.say(`{"type":"bye","reason":"draining","retry_after_ms":1}`)
			_ = p.ws.Close()
		}, "no close frame"},
		"a close that blames": {func(p *player) {
			_ = p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.ClosePolicyViolation, ""), time.Now().Add(time.Second))
		}, "closed the line for no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStage(t, func(p *player) {
				p.expect("subscribe")
				p.snapshot("k3f9", 41, nil)
				test.plant(p)
				p.rest()
			}, func(p *player) { p.rest() })
			w := watch(t, s, client.WatchersConfig{}, func(w *client.Watchers) bool { return mentions(w.Violations(), test.seen) })
			require.Equal(t, client.WatchersRight, w.Violations()[0].Invariant)
			require.Len(t, w.Violations(), 1)
		})
	}
}

func TestADeltaBeforeTheFirstSnapshotIsAViolation(t *testing.T) {
	t.Parallel()
	s := openStage(t, func(p *player) {
		p.expect("subscribe")
		p.delta(0, 1, `{"A1":"held"}`)
		p.expect("subscribe")
		p.snapshot("k3f9", 1, map[string]string{"A1": "held"})
		p.rest()
	})
	w := watch(t, s, client.WatchersConfig{}, at("k3f9", 1))
	require.Len(t, w.Violations(), 1)
	require.Contains(t, w.Violations()[0].Detail, "answers no subscription")
}

// After a bye the watcher stays away for as long as it was told, then goes on from what it has, at another replica.
func TestAByeIsHonouredAndTheMapResumed(t *testing.T) {
	t.Parallel()
	var left, back atomic.Int64
	s := openStage(t,
		func(p *player) {
			p.expect("subscribe")
			p.snapshot("k3f9", 41, nil)
			left.Store(time.Now().UnixMilli())
			p.bye(`{"type":"bye","reason":"draining","retry_after_ms":200}`)
			p.rest()
		},
		func(p *player) {
			back.Store(time.Now().UnixMilli())
			p.expect("subscribe k3f9 since 41")
			p.delta(41, 41, `{}`)
			p.delta(41, 42, `{"A1":"held"}`)
			p.rest()
		})
	w := watch(t, s, client.WatchersConfig{}, at("k3f9", 42))
	require.Empty(t, w.Violations())
	require.GreaterOrEqual(t, back.Load()-left.Load(), int64(200))
	stats := w.Stats()
	require.Equal(t, int64(1), stats.Byes)
	require.Equal(t, int64(1), stats.Reconnects)
	require.Equal(t, int64(1), stats.Resumes)
	require.Zero(t, stats.Gaps)
}

func TestASilentLineIsDead(t *testing.T) {
	t.Parallel()
	s := openStage(t,
		func(p *player) {
			p.expect("subscribe")
			p.snapshot("k3f9", 41, nil)
			for {
				if _, ok := p.hear(); !ok { // and say nothing
					return
				}
			}
		},
		func(p *player) {
			p.expect("subscribe k3f9 since 41")
			p.snapshot("k3f9", 50, nil)
			p.rest()
		})
	w := watch(t, s, client.WatchersConfig{Ping: 30 * time.Millisecond, Silence: 150 * time.Millisecond}, at("k3f9", 50))
	require.Empty(t, w.Violations())
}

func TestAWatcherPings(t *testing.T) {
	t.Parallel()
	pinged := make(chan struct{})
	s := openStage(t, func(p *player) {
		p.expect("subscribe")
		p.snapshot("k3f9", 41, nil)
		p.expect("ping")
		p.expect("ping")
		close(pinged)
		p.rest()
	})
	w := watch(t, s, client.WatchersConfig{Ping: 30 * time.Millisecond}, func(*client.Watchers) bool {
		select {
		case <-pinged:
			return true
		default:
			return false
		}
	})
	require.Empty(t, w.Violations())
}
