package lock_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/aislehq/aisle/lock"
)

// model is what the locks of one showing should be: the simplest thing that says the same.
type model struct {
	seats map[string]*modelLock
	last  int64
}

// modelLock is one seat's live lock. The whole showing is one more seat.
type modelLock struct {
	owner uuid.UUID
	ids   map[string]int64
}

func (m *model) take(r lock.Request, present map[string]uuid.UUID) (token int64, taken map[string]uuid.UUID, locked bool) {
	if whole, ok := m.seats[lock.WholeShowing]; ok && whole.owner != r.Owner {
		return 0, nil, true
	}
	taken = map[string]uuid.UUID{}
	repeated := true
	for _, seat := range r.Seats {
		has, ok := m.seats[seat]
		switch {
		case !ok:
			repeated = false
		case has.owner == r.Owner:
			if first, ok := has.ids[r.ID]; ok {
				token = first
			} else {
				repeated = false
			}
		case present[seat] == has.owner:
			repeated = false
		default:
			taken[seat] = has.owner
		}
	}
	if len(taken) > 0 {
		return 0, taken, false
	}
	if repeated {
		return token, nil, false
	}
	for _, seat := range r.Seats {
		has, ok := m.seats[seat]
		if !ok || has.owner != r.Owner {
			has = &modelLock{owner: r.Owner, ids: map[string]int64{}}
			m.seats[seat] = has
		}
		if _, ok := has.ids[r.ID]; !ok {
			has.ids[r.ID] = -1 // the token is learnt from the reply
		}
	}
	return -1, nil, false
}

// learn gives the acquisition that was just new its token.
func (m *model) learn(token int64) {
	for _, has := range m.seats {
		for id, known := range has.ids {
			if known == -1 {
				has.ids[id] = token
			}
		}
	}
	m.last = token
}

func (m *model) holds(owner uuid.UUID, seats []string) bool {
	return !slices.ContainsFunc(seats, func(seat string) bool {
		has, ok := m.seats[seat]
		return !ok || has.owner != owner
	})
}

func (m *model) release(owner uuid.UUID, id string, seats []string) (all bool) {
	all = true
	for _, seat := range seats {
		has, ok := m.seats[seat]
		if !ok || has.owner != owner {
			all = false
			continue
		}
		if id == "" {
			clear(has.ids)
		} else if _, ok := has.ids[id]; ok {
			delete(has.ids, id)
		} else {
			all = false
		}
		if len(has.ids) == 0 {
			delete(m.seats, seat)
		}
	}
	return all
}

func (m *model) owners() map[string]uuid.UUID {
	owners := map[string]uuid.UUID{}
	for seat, has := range m.seats {
		owners[seat] = has.owner
	}
	return owners
}

// Whatever order of calls on a showing's locks, they are what the model says they are.
func TestLocksFollowTheModel(t *testing.T) {
	t.Parallel()
	r := single(t)
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		run := &modelRun{rig: r, ctx: ctx, showing: uuid.New(), model: model{seats: map[string]*modelLock{}}}
		for i := range run.owners {
			run.owners[i] = uuid.New()
		}
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": run.acquire, "replace": run.replace, "renew": run.renew,
			"release": run.release, "over": run.expire, "": run.compare,
		})
	})
}

type modelRun struct {
	*rig
	ctx     context.Context //nolint:containedctx // a test's own context, for rapid's actions.
	showing uuid.UUID
	owners  [3]uuid.UUID
	model   model
}

func (m *modelRun) request(t *rapid.T) lock.Request {
	seats := []string{lock.WholeShowing}
	if rapid.IntRange(0, 9).Draw(t, "whole") != 0 {
		seats = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A1", "A2", "A3", "B1"}), 1, 4, rapid.ID[string]).Draw(t, "seats")
	}
	return want(m.showing, m.owner(t, "owner"), strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "id")), seats...)
}

func (m *modelRun) owner(t *rapid.T, label string) uuid.UUID {
	return m.owners[rapid.IntRange(0, len(m.owners)-1).Draw(t, label)]
}

func (m *modelRun) acquire(t *rapid.T) {
	r := m.request(t)
	held, err := m.Acquire(m.ctx, r)
	m.judge(t, r, nil, held, err)
}

func (m *modelRun) replace(t *rapid.T) {
	r := m.request(t)
	present := map[string]uuid.UUID{}
	for _, seat := range r.Seats {
		present[seat] = m.owner(t, "present")
	}
	held, err := m.Replace(m.ctx, r, present)
	m.judge(t, r, present, held, err)
}

func (m *modelRun) judge(t *rapid.T, r lock.Request, present map[string]uuid.UUID, held lock.Held, err error) {
	token, taken, locked := m.model.take(r, present)
	var refused *lock.TakenError
	switch {
	case locked:
		require.ErrorIs(t, err, lock.ErrShowingLocked)
	case len(taken) > 0:
		require.ErrorAs(t, err, &refused)
		require.Equal(t, taken, refused.Holders)
	case token == -1:
		require.NoError(t, err)
		require.Greater(t, held.Token, m.model.last)
		m.model.learn(held.Token)
	default:
		require.NoError(t, err)
		require.Equal(t, token, held.Token)
	}
}

func (m *modelRun) renew(t *rapid.T) {
	r := m.request(t)
	held, err := m.Renew(m.ctx, r)
	if !m.model.holds(r.Owner, r.Seats) {
		require.ErrorIs(t, err, lock.ErrNotHeld)
		return
	}
	require.NoError(t, err)
	require.Greater(t, held.Token, m.model.last)
	m.model.last = held.Token
}

func (m *modelRun) release(t *rapid.T) {
	r := m.request(t)
	if rapid.Bool().Draw(t, "all of the owner's") {
		r.ID = ""
	}
	err := m.Release(m.ctx, m.showing, r.Owner, r.ID, r.Seats)
	if m.model.release(r.Owner, r.ID, r.Seats) {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, lock.ErrNotHeld)
	}
}

// expire lets the time of one seat's lock go by.
func (m *modelRun) expire(t *rapid.T) {
	seats := slices.Sorted(maps.Keys(m.model.seats))
	if len(seats) == 0 {
		t.Skip("nothing is locked")
	}
	seat := rapid.SampledFrom(seats).Draw(t, "seat")
	key := m.Key(m.showing)
	value, err := m.client.HGet(m.ctx, key, seat).Result()
	require.NoError(t, err)
	require.NoError(t, m.client.HSet(m.ctx, key, seat, value[:36]+"|1|"+ids(value)).Err())
	delete(m.model.seats, seat)
}

func (m *modelRun) compare(t *rapid.T) {
	fields, err := m.client.HGetAll(m.ctx, m.Key(m.showing)).Result()
	require.NoError(t, err)
	live := map[string]uuid.UUID{}
	for seat, value := range fields {
		if seat == "#" || value[36:39] == "|1|" {
			continue
		}
		live[seat] = uuid.MustParse(value[:36])
	}
	require.Equal(t, m.model.owners(), live)
	if len(fields) > 0 {
		left, err := m.client.PTTL(m.ctx, m.Key(m.showing)).Result()
		require.NoError(t, err)
		require.Positive(t, left, "a hash that lives for ever")
		require.LessOrEqual(t, left, time.Minute)
	}
}
