package seatmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// A viewer does what a browser does: a snapshot, then deltas, each of which must begin where it stands.
type viewer struct {
	m    *Map
	log  string
	seq  int64
	seen map[string]string
	// steps are the maps it showed, by seq.
	steps map[int64]map[string]string
	// snapshots counts how often it had to start over.
	snapshots int
}

func view(ctx context.Context, l *Live, showing uuid.UUID) (*viewer, error) {
	m, err := l.Open(ctx, showing)
	if err != nil {
		return nil, err
	}
	v := &viewer{m: m, steps: map[int64]map[string]string{}}
	err = v.start()
	return v, err
}

func (v *viewer) start() error {
	s := v.m.Snapshot()
	v.log, v.seq, v.seen = s.Log, s.Seq, map[string]string{}
	v.snapshots++
	err := json.Unmarshal(s.Seats, &v.seen)
	v.steps[v.seq] = maps.Clone(v.seen)
	return err
}

// follow applies deltas until it has come to seq.
func (v *viewer) follow(ctx context.Context, seq int64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for v.seq < seq {
		select {
		case <-v.m.Changes():
		case <-ctx.Done():
			return fmt.Errorf("viewer stands at %d and not at %d", v.seq, seq)
		}
		d, ok := v.m.Since(v.log, v.seq)
		if !ok {
			if err := v.start(); err != nil {
				return err
			}
			continue
		}
		if d.Prev != v.seq {
			return fmt.Errorf("a delta from %d came at %d", d.Prev, v.seq)
		}
		for seat, status := range d.Seats {
			v.seen[string(seat)] = string(status)
		}
		v.seq = d.Seq
		v.steps[v.seq] = maps.Clone(v.seen)
	}
	return nil
}

// rush appends holds and releases of random seats from several sides at once, calls step after each,
// and is done when all are.
func (h *house) rush(ctx context.Context, showing uuid.UUID, sides, each int, step func()) error {
	group, ctx := errgroup.WithContext(ctx)
	for range sides {
		group.Go(func() error {
			for range each {
				if err := h.comeAndGo(ctx, showing); err != nil {
					return err
				}
				step()
			}
			return nil
		})
	}
	return group.Wait()
}

// comeAndGo holds two seats and gives them back, unless someone else changes them meanwhile.
func (h *house) comeAndGo(ctx context.Context, showing uuid.UUID) error {
	id := uuid.New()
	first := rand.IntN(len(h.codes) - 2)
	seats := h.codes[first : first+2]
	_, err := h.append(ctx, showing, hold(id, seats...))
	if err == nil {
		_, err = h.append(ctx, showing, release(id, seats...))
	}
	if guard := (*eventstore.GuardError)(nil); errors.As(err, &guard) {
		return nil
	}
	return err
}

// Opening a map races with changes: snapshot and deltas together miss nothing and repeat nothing.
func TestManyOpenersSeeExactlyTheLogWhileItGrows(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	h.lead(t, ProjectorConfig{}, lease(7, time.Minute))
	replicas := []*Live{h.live(t, LiveConfig{}), h.live(t, LiveConfig{Linger: time.Millisecond, HintGrace: time.Millisecond})}

	const openers, sides, each = 24, 4, 60
	viewers := make([]*viewer, openers)
	steps := make(chan struct{}, sides*each)
	var sales, looks errgroup.Group
	sales.Go(func() error {
		return h.rush(t.Context(), showing, sides, each, func() { steps <- struct{}{} })
	})
	for i := range openers {
		for range sides * each / openers {
			take(t, steps)
		}
		looks.Go(func() (err error) {
			viewers[i], err = view(t.Context(), replicas[i%len(replicas)], showing)
			return err
		})
	}
	require.NoError(t, errors.Join(looks.Wait(), sales.Wait()))
	heads, err := h.store.Heads(t.Context(), []uuid.UUID{showing})
	require.NoError(t, err)
	head := heads.Positions[showing].Seq
	for _, v := range viewers {
		looks.Go(func() error { return v.follow(t.Context(), head) })
	}
	require.NoError(t, looks.Wait())

	events := h.history(t, showing)
	for _, v := range viewers {
		require.Equal(t, head, v.seq)
		require.Equal(t, 1, v.snapshots, "deltas cover everything after the snapshot")
		for seq, shown := range v.steps {
			require.Equal(t, h.oracle(t, events, seq), shown, "at seq %d", seq)
		}
		v.m.Close()
	}
	stored := h.awaitStored(t, showing, head)
	require.Equal(t, events[len(events)-1].ID, stored.position.Event)
}

func TestSnapshotHasEverySeatInTheLayoutsOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.codes = []booking.Seat{"A1", "A2", "B1"}
	showing := h.showing(t)
	l := h.live(t, LiveConfig{})
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	before := m.Snapshot()
	require.JSONEq(t, `{"A1":"available","A2":"available","B1":"available"}`, string(before.Seats))
	require.Equal(t, int64(1), before.Seq)

	h.sell(t, showing, hold(uuid.New(), "A2"))
	h.await(t, m, 3)
	after := m.Snapshot()
	require.Equal(t, `{"A1":"available","A2":"held","B1":"available"}`, string(after.Seats)) //nolint:testifylint // the order counts
	require.NotEqual(t, before.ETag, after.ETag)
	require.Equal(t, `"`+after.Log+`-3"`, after.ETag)
	require.Equal(t, `{"showing":"`+showing.String()+`","log":"`+after.Log+`","seq":3,"stale":false,`+
		`"seats":{"A1":"available","A2":"held","B1":"available"}}`, string(after.JSON()))
	require.Equal(t, string(after.JSON()), string(gunzip(t, after.Gzip())))
	require.Same(t, &after.JSON()[0], &m.Snapshot().JSON()[0], "encoded once")

	available, seq, ok := l.Available(showing)
	require.True(t, ok)
	require.Equal(t, 2, available)
	require.Equal(t, int64(3), seq)
}

func TestAShowingThatIsNotOnSaleYetIsAllAvailable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := uuid.New()
	m, err := h.live(t, LiveConfig{CheckEvery: 20 * time.Millisecond}).Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, int64(0), m.Snapshot().Seq)
	require.Len(t, seatsOf(t, m.Snapshot()), 60)
	require.ErrorIs(t, m.CatchUp(t.Context(), 1), ErrAhead)

	h.openStream(t, showing)
	h.await(t, m, 1)
}

func TestAnUnknownShowingIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.live(t, LiveConfig{}).Open(t.Context(), uuid.Nil)
	require.ErrorIs(t, err, ErrUnknownShowing)
}

func TestLookShowsSeatsAndTheirBookings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing, id := h.showing(t), uuid.New()
	h.sell(t, showing, hold(id, "A1", "A2"))
	l := h.live(t, LiveConfig{})
	v, err := l.Look(t.Context(), showing, []booking.Seat{"A1", "F10"}, uuid.New())
	require.NoError(t, err)
	require.Equal(t, int64(4), v.Seq)
	require.Equal(t, booking.Held, v.Seats["A1"].Status)
	require.Equal(t, id, v.Seats["A2"].Booking)
	require.NotContains(t, v.Seats, booking.Seat("F10"))
	require.Equal(t, sessionOf(id), v.Bookings[id].Session)
	require.Equal(t, []uuid.UUID{showing}, l.Watched())
}

func TestSinceRefusesWhatItCannotCover(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	h.sell(t, showing, hold(uuid.New(), "A1"))
	m, err := h.live(t, LiveConfig{}).Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	log := m.Snapshot().Log

	_, ok := m.Since("other", 1)
	require.False(t, ok, "another log")
	_, ok = m.Since(log, 4)
	require.False(t, ok, "ahead of the map")
	_, ok = m.Since(log, -1)
	require.False(t, ok, "no seq")
	d, ok := m.Since(log, 3)
	require.True(t, ok)
	require.Equal(t, Delta{Prev: 3, Seq: 3, Seats: map[booking.Seat]booking.Status{}}, d)
	d, ok = m.Since(log, 0)
	require.True(t, ok)
	require.Equal(t, Delta{Prev: 0, Seq: 3, Seats: map[booking.Seat]booking.Status{"A1": booking.Held}}, d)
}

func TestCatchUpAsksTheLogAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	l := h.liveOn(t, LiveConfig{CheckEvery: time.Hour}, h.store, nil)
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
	require.NoError(t, m.CatchUp(t.Context(), seq))
	require.Equal(t, "held", seatsOf(t, m.Snapshot())["A1"])
	require.ErrorIs(t, m.CatchUp(t.Context(), seq+1), ErrAhead)
}

func TestOfferShowsOwnChangesAndIsSafeWithGaps(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	l := h.liveOn(t, LiveConfig{CheckEvery: time.Hour}, h.store, nil)
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	first := h.sell(t, showing, hold(uuid.New(), "A1"))
	second := h.sell(t, showing, hold(uuid.New(), "A2"))
	third := h.sell(t, showing, hold(uuid.New(), "A3"))

	l.Offer(t.Context(), first.Events)
	require.Equal(t, first.Seq, m.Snapshot().Seq)
	l.Offer(t.Context(), first.Events)
	require.Equal(t, first.Seq, m.Snapshot().Seq, "a repeat changes nothing")
	l.Offer(t.Context(), third.Events)
	require.Equal(t, first.Seq, m.Snapshot().Seq, "a gap is not jumped over at once")
	h.await(t, m, third.Seq)
	require.Greater(t, third.Seq, second.Seq)
}

// Bookings are told of once each, though the replica hears of them in several ways, and also when it
// doesn't follow their showing.
func TestBookingsAreToldOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	watched, other := h.showing(t), h.showing(t)
	h.lead(t, ProjectorConfig{}, lease(7, time.Minute))
	told := make(chan booking.Booking, 100)
	l := h.live(t, LiveConfig{OnBooking: func(b booking.Booking) { told <- b }})
	m, err := l.Open(t.Context(), watched)
	require.NoError(t, err)
	defer m.Close()
	require.Eventually(t, func() bool { return l.Stats().Hearing }, patience, time.Millisecond)

	mine, theirs := uuid.New(), uuid.New()
	result := h.sell(t, watched, hold(mine, "A1"))
	l.Offer(t.Context(), result.Events)
	h.awaitStored(t, watched, result.Seq)
	h.sell(t, other, hold(theirs, "B1", "B2"))
	h.sell(t, other, release(theirs, "B1", "B2"))

	var got []booking.Booking
	for len(got) < 3 {
		select {
		case b := <-told:
			got = append(got, b)
		case <-time.After(patience):
			t.Fatalf("only %d bookings were told of", len(got))
		}
	}
	require.Equal(t, mine, got[0].ID)
	require.Equal(t, booking.StateHeld, got[0].State)
	require.Equal(t, sessionOf(mine), got[0].Session)
	require.Equal(t, []booking.Seat{"A1"}, got[0].Seats)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), got[0].ExpiresAt, time.Minute)
	require.Equal(t, theirs, got[1].ID)
	require.Equal(t, booking.StateReleased, got[2].State)
	require.Equal(t, int64(7), got[2].Seq)
	require.Empty(t, told)
}

func TestMapsLingerThenGo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	l := h.live(t, LiveConfig{Linger: 100 * time.Millisecond, MaxMaps: 2})
	first, second, third := h.showing(t), h.showing(t), h.showing(t)
	open := func(showing uuid.UUID) *Map {
		m, err := l.Open(t.Context(), showing)
		require.NoError(t, err)
		return m
	}
	kept := open(first)
	open(second).Close()
	require.ElementsMatch(t, []uuid.UUID{first, second}, l.Watched())
	open(third).Close()
	require.NotContains(t, l.Watched(), second, "the longest unused one makes room")
	require.Contains(t, l.Watched(), first, "what is open stays")
	require.Eventually(t, func() bool { return len(l.Watched()) == 1 }, patience, 10*time.Millisecond)
	kept.Close()
	kept.Close()
	require.Eventually(t, func() bool { return len(l.Watched()) == 0 }, patience, 10*time.Millisecond)
}

func TestOpenAfterTheEndIsClosed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	l, err := NewLive(LiveConfig{Prefix: h.prefix}, h.store, h.redis, h)
	require.NoError(t, err)
	start(t, l.Run)()
	_, err = l.Open(t.Context(), h.showing(t))
	require.ErrorIs(t, err, ErrClosed)
}

var _ Log = (*eventstore.Store)(nil)
