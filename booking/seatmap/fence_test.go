package seatmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// attempt is one write of a snapshot by some leader.
type attempt struct {
	epoch, round int64
	log          string
	seq          int64
}

func (a attempt) run(ctx context.Context, s *scripts, showing uuid.UUID) (string, error) {
	return s.runWrite(ctx, writeRequest{
		showing: showing, round: a.round, state: []byte(`{}`), ttl: time.Minute,
		header: header{epoch: a.epoch, log: a.log, position: eventstore.Position{Seq: a.seq, Event: uuid.New()}},
		delta:  fmt.Appendf(nil, "%d/%d", a.epoch, a.seq),
	})
}

// checkFence says what is wrong with a write script as a fence: a leader that was stopped while another
// was elected goes on writing, and neither the snapshot nor anyone who listens may notice.
func checkFence(ctx context.Context, client redis.UniversalClient, s *scripts) error {
	showing := uuid.New()
	ears := client.Subscribe(ctx, DeltaChannel(s.prefix, showing))
	defer func() { _ = ears.Close() }()
	if _, err := ears.Receive(ctx); err != nil {
		return err
	}
	for _, a := range []attempt{
		{epoch: 7, log: "l", seq: 3},
		{epoch: 8, log: "l", seq: 5},
		{epoch: 7, log: "l", seq: 6}, // the old leader goes on
		{epoch: 7, log: "l", seq: 5, round: 3},
		{epoch: 8, log: "l", seq: 7},
	} {
		if _, err := a.run(ctx, s, showing); err != nil {
			return err
		}
	}
	var wrong error
	for _, want := range []string{"7/3", "8/5", "8/7"} {
		m, err := ears.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		if m.Payload != want {
			wrong = errors.Join(wrong, fmt.Errorf("told of %s where %s was due", m.Payload, want))
		}
	}
	epoch, err := client.HGet(ctx, SnapshotKey(s.prefix, showing), fieldEpoch).Result()
	if err != nil {
		return err
	}
	if epoch != "8" {
		wrong = errors.Join(wrong, fmt.Errorf("the snapshot is of epoch %s", epoch))
	}
	return wrong
}

// The leader is stopped, a second is elected, the first goes on: its writes are refused by epoch.
func TestAnOldLeadersWritesAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	require.NoError(t, checkFence(t.Context(), h.redis, newScripts(h.redis, h.prefix)))
}

// The check above finds a script that doesn't look at the epoch.
func TestTheFencesCheckFindsAMissingFence(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	planted := newScripts(h.redis, h.prefix)
	unfenced := strings.Replace(writeLua,
		"stored_epoch > epoch or (stored_epoch == epoch and stored_round > round)", "false", 1)
	require.NotEqual(t, writeLua, unfenced)
	planted.write = redis.NewScript(unfenced)
	require.Error(t, checkFence(t.Context(), h.redis, planted))
}

func TestWhoMayOverwriteASnapshot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := newScripts(h.redis, h.prefix)
	for name, c := range map[string]struct {
		first, then attempt
		answer      string
	}{
		"the next seq":                     {attempt{8, 0, "l", 5}, attempt{8, 0, "l", 6}, "ok"},
		"the same again":                   {attempt{8, 0, "l", 5}, attempt{8, 0, "l", 5}, "ok"},
		"a later leader, same seq":         {attempt{8, 0, "l", 5}, attempt{9, 0, "l", 5}, "ok"},
		"a later leader, older seq":        {attempt{8, 0, "l", 5}, attempt{9, 0, "l", 4}, "older"},
		"an older seq of one's own":        {attempt{8, 0, "l", 5}, attempt{8, 0, "l", 4}, "odd"},
		"an older leader":                  {attempt{8, 0, "l", 5}, attempt{7, 0, "l", 6}, "epoch"},
		"an older leader's later round":    {attempt{8, 0, "l", 5}, attempt{7, 9, "l", 6}, "epoch"},
		"the log went back":                {attempt{8, 0, "l", 5}, attempt{8, 1, "l", 2}, "ok"},
		"the log went back, late":          {attempt{8, 1, "l", 2}, attempt{8, 0, "l", 6}, "epoch"},
		"a later leader, the log went":     {attempt{8, 3, "l", 5}, attempt{9, 1, "l", 2}, "ok"},
		"a new log":                        {attempt{8, 0, "l", 5}, attempt{8, 1, "m", 1}, "ok"},
		"a new log without a new round":    {attempt{8, 0, "l", 5}, attempt{8, 0, "m", 9}, "odd"},
		"a later leader on a new log":      {attempt{8, 0, "l", 5}, attempt{9, 0, "m", 1}, "ok"},
		"a late write of the log before":   {attempt{8, 1, "m", 1}, attempt{8, 0, "l", 9}, "epoch"},
		"epochs as large as etcd's can be": {attempt{1 << 52, 0, "l", 5}, attempt{1<<52 + 1, 0, "l", 6}, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			showing := uuid.New()
			answer, err := c.first.run(t.Context(), s, showing)
			require.NoError(t, err)
			require.Equal(t, "ok", answer)
			answer, err = c.then.run(t.Context(), s, showing)
			require.NoError(t, err)
			require.Equal(t, c.answer, answer)
			stands := c.first
			if answer == answerOK {
				stands = c.then
			}
			fields, err := h.redis.HMGet(t.Context(), SnapshotKey(h.prefix, showing), "epoch", "round", "log", "seq").Result()
			require.NoError(t, err)
			require.Equal(t, []any{
				strconv.FormatInt(stands.epoch, 10), strconv.FormatInt(stands.round, 10),
				stands.log, strconv.FormatInt(stands.seq, 10),
			}, fields)
		})
	}
}

func TestOnlyLocksOfBookingsThatEndedAreFreed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := newScripts(h.redis, h.prefix)
	showing, ended, other := uuid.New(), uuid.New(), uuid.New()
	locks := h.prefix + "{" + showing.String() + "}:locks"
	require.NoError(t, h.redis.HSet(t.Context(), locks,
		"A1", ended.String()+"|x", "A2", other.String()+"|y", "A3", ended.String()+"|z").Err())
	request := writeRequest{
		showing: showing, state: []byte(`{}`), ttl: time.Minute, locks: locks,
		header: header{epoch: 1, log: "l", position: eventstore.Position{Seq: 9, Event: uuid.New()}},
		freed:  []freedLock{{"A1", ended}, {"A2", ended}, {"A9", ended}},
	}
	answer, err := s.runWrite(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "ok", answer)
	left, err := h.redis.HGetAll(t.Context(), locks).Result()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"A2": other.String() + "|y", "A3": ended.String() + "|z"}, left)

	// What isn't a hash of locks doesn't keep the snapshot from being written.
	require.NoError(t, h.redis.Set(t.Context(), locks, "rubbish", 0).Err())
	request.position.Seq = 10
	answer, err = s.runWrite(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "ok", answer)
}

// A second leader while the first still believes that it leads: the first finds out by its own writing
// or refreshing, and ends.
func TestALeaderThatWasSupersededEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	old := h.projector(t, ProjectorConfig{RefreshEvery: 50 * time.Millisecond}, h.store)
	ended := make(chan error, 1)
	go func() { ended <- old.Run(t.Context(), lease(7, time.Minute)) }()
	require.Equal(t, int64(7), h.awaitStored(t, showing, 1).epoch)

	h.lead(t, ProjectorConfig{RefreshEvery: 50 * time.Millisecond}, lease(8, time.Minute))
	select {
	case err := <-ended:
		require.ErrorIs(t, err, ErrSuperseded)
	case <-time.After(patience):
		t.Fatal("the old leader goes on")
	}
	seq := h.sell(t, showing, hold(uuid.New(), "A1")).Seq
	require.Equal(t, int64(8), h.awaitStored(t, showing, seq).epoch)
}

// With Redis empty there is nothing that refuses the old leader; but what a snapshot says depends on the
// log and the seq alone, so its writes are as good as anyone's, and the leader signs them as its own.
func TestAnOldLeadersWriteIntoAnEmptyRedisDoesNoHarm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	showing := h.showing(t)
	seq := h.sell(t, showing, hold(uuid.New(), "A1", "A2")).Seq
	h.lead(t, ProjectorConfig{RefreshEvery: 200 * time.Millisecond}, lease(8, time.Minute))
	right := h.awaitStored(t, showing, seq)
	state, err := json.Marshal(right.state)
	require.NoError(t, err)
	request := writeRequest{showing: showing, header: right.header, state: state, ttl: time.Minute}
	request.epoch = 7
	old := newScripts(h.redis, h.prefix)
	require.Eventually(t, func() bool { // until it comes between the loss and the leader's own repair
		h.redis.Del(t.Context(), SnapshotKey(h.prefix, showing))
		answer, err := old.runWrite(t.Context(), request)
		return err == nil && answer == answerOK
	}, patience, time.Millisecond)

	require.Eventually(t, func() bool {
		s, ok := h.stored(t, showing)
		return ok && s.epoch == 8
	}, patience, 10*time.Millisecond)
	now, _ := h.stored(t, showing)
	require.Equal(t, right.position, now.position)
	require.Equal(t, right.state, now.state)
	require.Equal(t, booking.Held, now.state.Seats["A1"].Status)
}
