package realtime_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/realtime"
)

// The one message that answers a subscribe with this log and since, of a map with S0 held at seq 2
// and S1 sold at seq 3.
func TestResume(t *testing.T) {
	t.Parallel()
	const snapshot = `{"type":"snapshot","showing":%q,"log":"k3f9","seq":3,"stale":false,"seats":{"S0":"held","S1":"sold"}}`
	for name, c := range map[string]struct {
		log    string
		since  int64
		forget int64
		want   string
	}{
		"from the same seq":    {"k3f9", 3, 1, `{"type":"delta","showing":%q,"prev":3,"seq":3,"seats":{}}`},
		"from one before":      {"k3f9", 2, 1, `{"type":"delta","showing":%q,"prev":2,"seq":3,"seats":{"S1":"sold"}}`},
		"from the beginning":   {"k3f9", 1, 1, `{"type":"delta","showing":%q,"prev":1,"seq":3,"seats":{"S0":"held","S1":"sold"}}`},
		"from before anything": {"k3f9", 0, 1, snapshot},
		"from too far back":    {"k3f9", 1, 2, snapshot},
		"from another log":     {"x7q2", 3, 1, snapshot},
		"from an empty log":    {"", 3, 1, snapshot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, realtime.Config{})
			s := h.add(2)
			s.change("held", "S0")
			s.change("sold", "S1")
			s.forget(c.forget)
			socket := h.raw(t)
			socket.send(`{"type":"subscribe","showing":%q,"log":%q,"since":%d}`, s.showing, c.log, c.since)
			socket.wants(c.want, s.showing)
			s.change("available", "S0")
			socket.wants(`{"type":"delta","showing":%q,"prev":3,"seq":4,"seats":{"S0":"available"}}`, s.showing)
		})
	}
}

func TestLogOrSinceAloneGivesASnapshot(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	c := h.raw(t)
	for _, field := range []string{`"log":"k3f9"`, `"since":1`} {
		c.send(`{"type":"subscribe","showing":%q,%s}`, s.showing, field)
		c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, s.showing)
	}
}

// A delta has no word for staleness, so a message follows it.
func TestResumeOfAStaleMap(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	s.setStale(true)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":1}`, s.showing)
	c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":1,"seats":{}}`, s.showing)
	c.wants(`{"type":"stale","showing":%q,"stale":true}`, s.showing)
	fresh := h.raw(t)
	fresh.send(`{"type":"subscribe","showing":%q}`, s.showing)
	fresh.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":true,"seats":{"S0":"available"}}`, s.showing)
}

// The client has come from a replica that was further: this one catches up, for all.
func TestServerBehindTheClientCatchesUp(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	other := h.raw(t)
	other.send(`{"type":"subscribe","showing":%q}`, s.showing)
	other.next()
	require.Equal(t, int64(2), s.append("held", "S0"))
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":2}`, s.showing)
	c.wants(`{"type":"delta","showing":%q,"prev":2,"seq":2,"seats":{}}`, s.showing)
	other.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S0":"held"}}`, s.showing)
}

func TestServerThatCantCatchUpGivesASnapshotAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{CatchUpTimeout: time.Hour})
	s := h.add(1)
	s.catchUpErr = errors.New("the log can't be reached")
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":9}`, s.showing)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, s.showing)
}

// A seq that is never reached costs its client the wait, 2 s by default, and nobody else anything.
func TestSeqFromTheFutureWaitsAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2*time.Second, realtime.Config{}.WithDefaults().CatchUpTimeout)
	h := open(t, realtime.Config{CatchUpTimeout: 3 * time.Second})
	s := h.add(1)
	s.catching = make(chan int64)
	liar := h.raw(t)
	asked := time.Now()
	liar.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":1000000}`, s.showing)
	s.asksFor(t, 1000000)

	// One who is just ahead does not wait behind the other's call.
	s.append("held", "S0")
	honest := h.raw(t)
	honest.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":2}`, s.showing)
	s.asksFor(t, 2)
	honest.wants(`{"type":"delta","showing":%q,"prev":2,"seq":2,"seats":{}}`, s.showing)

	// The room goes on meanwhile, and the map is still asked for what the first one wants.
	s.asksFor(t, 1000000)
	s.change("sold", "S0")
	honest.wants(`{"type":"delta","showing":%q,"prev":2,"seq":3,"seats":{"S0":"sold"}}`, s.showing)
	liar.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":3,"stale":false,"seats":{"S0":"sold"}}`, s.showing)
	require.GreaterOrEqual(t, time.Since(asked), 3*time.Second)
}

// Waiting for the map to catch up, a client hangs up, unsubscribes or asks for something else: the
// room ends with its last socket and its map is closed.
func TestLeavingWhileTheServerCatchesUp(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{CatchUpTimeout: time.Hour})
	ahead := func(s *source) raw {
		c := h.raw(t)
		c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":50}`, s.showing)
		s.asksFor(t, 50)
		return c
	}
	showing := func() *source {
		s := h.add(1)
		s.catching = make(chan int64)
		return s
	}
	gone := showing()
	require.NoError(t, ahead(gone).ws.Close())
	left := showing()
	ahead(left).send(`{"type":"unsubscribe","showing":%q}`, left.showing)
	require.Eventually(t, func() bool { return h.opened() == 0 && h.hub.Rooms() == 0 }, 5*time.Second, time.Millisecond)

	again := showing()
	c := ahead(again)
	c.send(`{"type":"subscribe","showing":%q}`, again.showing)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, again.showing)
}

// Another log comes while a client waits for a seq of the old one.
func TestAnotherLogEndsTheWaitForTheOldOne(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{CatchUpTimeout: time.Hour})
	s := h.add(1)
	s.catching = make(chan int64)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":50}`, s.showing)
	s.asksFor(t, 50)
	s.renew("x7q2", 7)
	c.wants(`{"type":"snapshot","showing":%q,"log":"x7q2","seq":7,"stale":false,"seats":{"S0":"available"}}`, s.showing)
}

// Thousands come back at once after a replica has gone: one call catches up for all of them.
func TestManyWhoAreAheadShareOneCall(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	s.catching = make(chan int64)
	s.append("held", "S0")
	var sockets []raw
	for range 50 {
		c := h.raw(t)
		c.send(`{"type":"subscribe","showing":%q,"log":"k3f9","since":2}`, s.showing)
		sockets = append(sockets, c)
	}
	s.asksFor(t, 2)
	for _, c := range sockets {
		c.wants(`{"type":"delta","showing":%q,"prev":2,"seq":2,"seats":{}}`, s.showing)
	}
	select {
	case <-s.catching:
		require.Fail(t, "a second call")
	default:
	}
}

func TestRoomIsGoneWithItsLastSocket(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	showings := make([]uuid.UUID, 0, 10)
	c := h.dial(t)
	for i := range 10 {
		s := h.add(i + 1)
		showings = append(showings, s.showing)
		require.NoError(t, c.Subscribe(s.showing))
		_, err := c.WaitSeq(t.Context(), s.showing, 1)
		require.NoError(t, err)
	}
	require.Equal(t, 10, h.opened(), fmt.Sprint(showings))
	c.Close()
	require.Eventually(t, func() bool { return h.opened() == 0 && h.hub.Rooms() == 0 && h.hub.Sockets() == 0 }, 5*time.Second, time.Millisecond)
}
