package realtime_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/realtime"
)

func TestMessagesAsTheContractHasThem(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(2)
	c := h.raw(t)
	require.Equal(t, "aisle.v1", c.ws.Subprotocol())

	c.send(`{"type":"ping"}`)
	c.wants(`{"type":"pong"}`)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available","S1":"available"}}`, s.showing)
	s.change("held", "S1")
	c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S1":"held"}}`, s.showing)
	s.setStale(true)
	c.wants(`{"type":"stale","showing":%q,"stale":true}`, s.showing)
	s.setStale(false)
	c.wants(`{"type":"stale","showing":%q,"stale":false}`, s.showing)
}

func TestUnsubscribedShowingIsSilentAndItsMapClosed(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s, other := h.add(1), h.add(1)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.next()
	c.send(`{"type":"unsubscribe","showing":%q}`, s.showing)
	require.Eventually(t, func() bool { return h.opened() == 0 && h.hub.Rooms() == 0 }, 5*time.Second, time.Millisecond)
	s.change("held", "S0")

	c.send(`{"type":"subscribe","showing":%q}`, other.showing)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, other.showing)
	// To leave a room one is not in is no mistake: it may just have ended.
	c.send(`{"type":"unsubscribe","showing":%q}`, s.showing)
	c.send(`{"type":"ping"}`)
	c.wants(`{"type":"pong"}`)
}

func TestSubscribeAgainGivesTheWholeMapAgain(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{MaxSubscriptions: 1})
	s := h.add(1)
	c := h.raw(t)
	for range 3 {
		c.send(`{"type":"subscribe","showing":%q}`, s.showing)
		c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, s.showing)
	}
	s.change("sold", "S0")
	c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S0":"sold"}}`, s.showing)
}

func TestUnknownShowingIsSaidAndTheConnectionStays(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	nowhere := uuid.New()
	c.send(`{"type":"subscribe","showing":%q}`, nowhere)
	c.wants(`{"type":"error","code":"unknown-showing","detail":"there is no such showing","showing":%q}`, nowhere)
	c.send(`{"type":"subscribe","showing":"tonight"}`)
	c.wants(`{"type":"error","code":"unknown-showing","detail":"there is no such showing"}`)
	c.send(`{"type":"ping"}`)
	c.wants(`{"type":"pong"}`)
	require.Eventually(t, func() bool { return h.hub.Rooms() == 0 }, 5*time.Second, time.Millisecond)
}

func TestUnknownShowingsDontUseUpSubscriptions(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{MaxSubscriptions: 1})
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, uuid.New())
	c.wantsError("unknown-showing")
	s := h.add(1)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, s.showing)
}

func TestTooManySubscriptionsAreRefusedAndTheConnectionStays(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{MaxSubscriptions: 2})
	first, second, third := h.add(1), h.add(1), h.add(1)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, first.showing)
	c.next()
	c.send(`{"type":"subscribe","showing":%q}`, second.showing)
	c.next()
	c.send(`{"type":"subscribe","showing":%q}`, third.showing)
	c.wants(`{"type":"error","code":"too-many-subscriptions","detail":"this connection watches as many showings as it may","showing":%q}`, third.showing)
	// Giving one up makes room for another.
	c.send(`{"type":"unsubscribe","showing":%q}`, first.showing)
	c.send(`{"type":"subscribe","showing":%q}`, third.showing)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, third.showing)
}

func TestSixteenSubscriptionsByDefault(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	c := h.raw(t)
	for range 16 {
		c.send(`{"type":"subscribe","showing":%q}`, h.add(1).showing)
		c.next()
	}
	c.send(`{"type":"subscribe","showing":%q}`, h.add(1).showing)
	c.wantsError("too-many-subscriptions")
}

func TestMapThatCantBeOpenedIsStaleUntilItCan(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	h.fail(errors.New("the log can't be reached"))
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.wants(`{"type":"stale","showing":%q,"stale":true}`, s.showing)
	h.fail(nil)
	c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":1,"stale":false,"seats":{"S0":"available"}}`, s.showing)
}

// A map may end under a room, as when its keeper makes place for others.
func TestMapThatEndsIsOpenedAgain(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.next()
	s.end()
	s.change("held", "S0")
	c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S0":"held"}}`, s.showing)
	require.Equal(t, 1, h.opened())
}

// While it can't be opened again the members are told that it is old, and later that it no longer is.
func TestMapThatEndsAndCantBeOpenedIsStale(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	c := h.raw(t)
	c.send(`{"type":"subscribe","showing":%q}`, s.showing)
	c.next()
	h.fail(errors.New("the log can't be reached"))
	s.end()
	c.wants(`{"type":"stale","showing":%q,"stale":true}`, s.showing)
	h.fail(nil)
	c.wants(`{"type":"stale","showing":%q,"stale":false}`, s.showing)
}

// A log restored from a backup has another id: everyone starts from a snapshot.
func TestAnotherLogGivesEveryoneANewSnapshot(t *testing.T) {
	t.Parallel()
	h := open(t, realtime.Config{})
	s := h.add(1)
	s.change("held", "S0")
	a, b := h.raw(t), h.raw(t)
	for _, c := range []raw{a, b} {
		c.send(`{"type":"subscribe","showing":%q}`, s.showing)
		c.wants(`{"type":"snapshot","showing":%q,"log":"k3f9","seq":2,"stale":false,"seats":{"S0":"held"}}`, s.showing)
	}
	s.renew("x7q2", 1)
	for _, c := range []raw{a, b} {
		c.wants(`{"type":"snapshot","showing":%q,"log":"x7q2","seq":1,"stale":false,"seats":{"S0":"held"}}`, s.showing)
	}
	s.change("sold", "S0")
	for _, c := range []raw{a, b} {
		c.wants(`{"type":"delta","showing":%q,"prev":1,"seq":2,"seats":{"S0":"sold"}}`, s.showing)
	}
}
