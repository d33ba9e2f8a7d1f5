package seatmap

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// hearing waits until a replica hears a showing's deltas.
func (h *house) hearing(t *testing.T, showing uuid.UUID) {
	t.Helper()
	channel := DeltaChannel(h.prefix, showing)
	require.Eventually(t, func() bool {
		n, err := h.redis.PubSubNumSub(t.Context(), channel).Result()
		return err == nil && n[channel] > 0
	}, patience, 5*time.Millisecond)
}

// The last message was lost and nothing follows that would show a gap: the comparison of heads, once a
// second, finds it.
func TestALostLastMessageIsNoticed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	m, err := h.live(t, LiveConfig{}).Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	h.hearing(t, showing)
	began := time.Now()
	h.await(t, m, h.sell(t, showing, hold(uuid.New(), "A1")).Seq) // nobody publishes anything
	require.Less(t, time.Since(began), 3*time.Second)
}

// Without a leader a hint alone brings the change, long before the heads are compared.
func TestAHintBringsTheChangeWithoutALeader(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	hinter, err := NewHinter(HinterConfig{Prefix: h.prefix, Logger: h.logger()}, h.redis)
	require.NoError(t, err)
	start(t, hinter.Run)
	m, err := h.live(t, LiveConfig{CheckEvery: time.Hour}).Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	h.hearing(t, showing)
	for range 3 {
		id := uuid.New()
		h.sell(t, showing, hold(id, "A1"))
		seq := h.sell(t, showing, release(id, "A1")).Seq
		hinter.Notify(showing, seq)
		h.await(t, m, seq)
	}
}

// Redis drops the line to a replica: it is made anew, and what was missed meanwhile is asked for.
func TestAKilledLineIsMadeAnew(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Redis)
	h := openHouse(t, stacktest.Postgres(t), stack.RedisURL(), "own:")
	showing := h.showing(t)
	h.lead(t, ProjectorConfig{}, lease(7, time.Minute))
	l := h.live(t, LiveConfig{CheckEvery: time.Hour})
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	h.hearing(t, showing)
	for range 3 {
		require.NoError(t, h.redis.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		h.await(t, m, h.sell(t, showing, hold(uuid.New(), "A1")).Seq) // perhaps lost, perhaps not
		h.hearing(t, showing)
		deltas := l.Stats().Deltas
		h.await(t, m, h.sell(t, showing, hold(uuid.New(), "A2")).Seq)
		require.Eventually(t, func() bool { return l.Stats().Deltas > deltas }, patience, time.Millisecond)
	}
}

// Redis stops: maps follow the log themselves within two seconds, and go back to deltas when it is back.
func TestMapsFollowTheLogWhileRedisIsGone(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, localstack.Redis)
	h := openHouse(t, stacktest.Postgres(t), stack.RedisURL(), "own:")
	showing := h.showing(t)
	h.lead(t, ProjectorConfig{RefreshEvery: 200 * time.Millisecond}, lease(7, time.Minute))
	l := h.live(t, LiveConfig{})
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	h.hearing(t, showing)

	require.NoError(t, stack.StopRedis(t.Context()))
	for range 2 {
		began := time.Now()
		h.await(t, m, h.sell(t, showing, hold(uuid.New(), "A1")).Seq)
		require.Less(t, time.Since(began), 4*time.Second, "two seconds, and some patience with a busy machine")
	}
	require.False(t, m.Snapshot().Stale)
	other, err := l.Open(t.Context(), h.showing(t))
	require.NoError(t, err, "a map that nobody had open yet comes from the log")
	other.Close()

	require.NoError(t, stack.StartRedis(t.Context()))
	h.hearing(t, showing)
	deltas := l.Stats().Deltas
	require.Eventually(t, func() bool {
		h.await(t, m, h.sell(t, showing, hold(uuid.New(), "A2")).Seq)
		return l.Stats().Deltas > deltas
	}, patience, 50*time.Millisecond)
	require.Equal(t, 2, h.notes.count("channels can't be heard", "WARN"), "once by the maps and once by the leader")
}

// Redis takes connections and never answers, which is worse than refusing them: maps come from the log all
// the same, commands are not held up by hints, and a term ends soon after its context.
func TestARedisThatHangsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ear, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ear.Close()) })
	h.redis = dial(t, "redis://"+ear.Addr().String()) // the kernel accepts, nobody reads
	showing := h.showing(t)
	stop := h.lead(t, ProjectorConfig{}, lease(7, time.Minute))
	hinter, err := NewHinter(HinterConfig{Prefix: h.prefix, Logger: h.logger(), Queue: 3}, h.redis)
	require.NoError(t, err)
	start(t, hinter.Run)
	l := h.live(t, LiveConfig{})
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	for range 2 {
		seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
		for range 10 {
			hinter.Notify(uuid.New(), 1)
		}
		h.await(t, m, seq)
	}
	hinter.mu.Lock()
	require.LessOrEqual(t, len(hinter.waiting), 3)
	hinter.mu.Unlock()
	require.False(t, m.Snapshot().Stale)
	began := time.Now()
	stop()
	require.Less(t, time.Since(began), 5*time.Second)
}

// PostgreSQL stops: maps stay, marked stale within seconds; a showing that nobody had open is shown from
// its snapshot, stale; one without a snapshot can't be shown. When it is back, so is everything.
func TestMapsAreStaleWhileTheLogIsGone(t *testing.T) {
	t.Parallel()
	h, stack := ownHouse(t)
	showing, unopened := h.showing(t), h.showing(t)
	h.lead(t, ProjectorConfig{}, lease(7, time.Minute))
	seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
	h.awaitStored(t, unopened, h.sell(t, unopened, hold(uuid.New(), "B1")).Seq)
	l := h.live(t, LiveConfig{})
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	h.await(t, m, seq)
	fresh := m.Snapshot()
	require.False(t, fresh.Stale)

	require.NoError(t, stack.StopPostgres(t.Context()))
	began := time.Now()
	awaitMap(t, m, func(s Snapshot) bool { return s.Stale })
	require.Greater(t, time.Since(began), time.Second, "one missed comparison isn't enough")
	stale := m.Snapshot()
	require.Equal(t, fresh.Seats, stale.Seats)
	require.NotEqual(t, fresh.ETag, stale.ETag)
	require.Contains(t, string(stale.JSON()), `"stale":true`)
	d, ok := m.Since(fresh.Log, fresh.Seq)
	require.True(t, ok)
	require.True(t, d.Stale)

	other, err := l.Open(t.Context(), unopened)
	require.NoError(t, err)
	defer other.Close()
	require.True(t, other.Snapshot().Stale)
	require.Equal(t, "held", seatsOf(t, other.Snapshot())["B1"])
	_, err = l.Open(t.Context(), uuid.New())
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, m.CatchUp(short, seq+1), context.DeadlineExceeded)

	require.NoError(t, stack.StartPostgres(t.Context()))
	awaitMap(t, m, func(s Snapshot) bool { return !s.Stale })
	awaitMap(t, other, func(s Snapshot) bool { return !s.Stale })
	h.await(t, m, h.sell(t, showing, hold(uuid.New(), "A2")).Seq)
}

// restore takes a showing's stream back to an earlier point, as a backup does.
func (h *house) restore(t *testing.T, showing uuid.UUID, to int64, log string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	exec := func(sql string, args ...any) {
		_, err := tx.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	exec(`ALTER TABLE events DISABLE TRIGGER events_are_final`)
	exec(`DELETE FROM events WHERE stream = $1 AND seq > $2`, showing, to)
	exec(`ALTER TABLE events ENABLE TRIGGER events_are_final`)
	exec(`UPDATE streams SET head = $2, event = (SELECT id FROM events WHERE stream = $1 AND seq = $2) WHERE id = $1`,
		showing, to)
	if log != "" {
		exec(`UPDATE log SET id = $1`, log)
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// The database was restored to an earlier point: maps and snapshots are made anew, whether the log says
// so by its id or only by its events, and whether or not it has grown past the old seq since.
func TestMapsAreRebuiltWhenTheLogWasRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  string
		more int
	}{
		"with a new id":                     {log: "restored"},
		"with the old id":                   {},
		"with the old id, and grown beyond": {more: 4},
		"with a new id, and grown beyond":   {log: "restored", more: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			showing, id := h.showing(t), uuid.New()
			h.sell(t, showing, hold(id, "A1", "A2"))
			lost := h.sell(t, showing, release(id, "A1", "A2")).Seq
			stop := h.lead(t, ProjectorConfig{RefreshEvery: 50 * time.Millisecond}, lease(7, time.Minute))
			h.awaitStored(t, showing, lost)
			stop() // so that only the next leader meets the restored log
			l := h.liveOn(t, LiveConfig{CheckEvery: 50 * time.Millisecond}, h.store, nil)
			m, err := l.Open(t.Context(), showing)
			require.NoError(t, err)
			defer m.Close()
			before := m.Snapshot()
			require.Equal(t, lost, before.Seq)

			h.restore(t, showing, 4, c.log)
			head := int64(4)
			for range c.more {
				head = h.sell(t, showing, hold(uuid.New(), "C1")).Seq
			}
			awaitMap(t, m, func(s Snapshot) bool {
				return seatsOf(t, s)["A1"] == "held" && s.Seq == head && (c.log == "" || s.Log == c.log)
			})
			_, ok := m.Since(before.Log, before.Seq)
			require.False(t, ok, "what was shown before is worth nothing")
			h.await(t, m, head)

			h.lead(t, ProjectorConfig{RefreshEvery: 50 * time.Millisecond}, lease(8, time.Minute))
			require.Eventually(t, func() bool {
				s, ok := h.stored(t, showing)
				return ok && s.position.Seq == head && s.log == m.Snapshot().Log && s.state.Seats["A1"].Status == "held"
			}, patience, 10*time.Millisecond)
		})
	}
}

// What a running leader does when the log goes back under it.
func TestARunningLeaderMeetsARestoredLog(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]string{"with a new id": "restored", "with the old id": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			showing, id := h.showing(t), uuid.New()
			h.sell(t, showing, hold(id, "A1", "A2"))
			lost := h.sell(t, showing, release(id, "A1", "A2")).Seq
			h.lead(t, ProjectorConfig{RefreshEvery: 50 * time.Millisecond}, lease(7, time.Minute))
			h.awaitStored(t, showing, lost)
			m, err := h.live(t, LiveConfig{}).Open(t.Context(), showing)
			require.NoError(t, err)
			defer m.Close()
			h.restore(t, showing, 4, log)
			awaitMap(t, m, func(s Snapshot) bool { return s.Seq == 4 })
			require.Eventually(t, func() bool {
				s, ok := h.stored(t, showing)
				return ok && s.position.Seq == 4 && (log == "" || s.log == log)
			}, patience, 10*time.Millisecond)
			h.await(t, m, h.sell(t, showing, hold(uuid.New(), "B1")).Seq)
		})
	}
}

// Rubbish in Redis is logged once for each place, and the log is used instead.
func TestRubbishInRedisIsIgnored(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
	key, channel := SnapshotKey(h.prefix, showing), DeltaChannel(h.prefix, showing)
	require.NoError(t, h.redis.HSet(t.Context(), key, "format", storedFormat, "epoch", "1", "state", "{").Err())
	l := h.live(t, LiveConfig{CheckEvery: time.Hour})
	m, err := l.Open(t.Context(), showing)
	require.NoError(t, err)
	defer m.Close()
	h.await(t, m, seq)
	require.Equal(t, 1, h.notes.count("can't be used", key))

	h.hearing(t, showing)
	stray := uuid.New()
	seq = h.sell(t, showing, hold(uuid.New(), "A2")).Seq
	for _, rubbish := range []string{
		`{`, `{"log":"x"}`, `null`,
		`{"log":"x","epoch":1,"prev":3,"seq":4,"events":[{"stream":"` + stray.String() + `","seq":4}]}`,
	} {
		require.NoError(t, h.redis.Publish(t.Context(), channel, rubbish).Err())
	}
	h.await(t, m, seq)
	require.NoError(t, h.redis.Publish(t.Context(), HintChannel(h.prefix), "what").Err())
	require.NoError(t, h.redis.Publish(t.Context(), BookingsChannel(h.prefix), "what").Err())
	require.Eventually(t, func() bool {
		return h.notes.count("can't be used", BookingsChannel(h.prefix)) == 1
	}, patience, 5*time.Millisecond)
	require.Equal(t, 1, h.notes.count("can't be used", HintChannel(h.prefix)))
	require.Equal(t, 1, h.notes.count("can't be used", channel))
	require.Equal(t, seq, m.Snapshot().Seq)
}
