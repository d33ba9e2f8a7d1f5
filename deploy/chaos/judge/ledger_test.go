package judge_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

// ledger is a log made by hand, and what its clients were told: right, until a test tampers with it.
type ledger struct {
	showing  uuid.UUID
	now      time.Time
	heads    map[uuid.UUID]int64
	events   []ledgerEvent
	latest   map[string]int64
	holds    map[string]*ledgerBooking
	index    []*ledgerBooking
	commands []ledgerCommand
	ops      []history.Op
}

type ledgerEvent struct {
	showing, id  uuid.UUID
	seq, prev    int64
	entity, kind string
	data         map[string]any
	deadline, at time.Time
}

type ledgerBooking struct {
	id, session uuid.UUID
	state       string
	seats       []string
	deadline    time.Time
	seq         int64
}

type ledgerCommand struct {
	session, booking uuid.UUID
	key              string
	status           int
	seq              int64
}

func newLedger() *ledger {
	l := &ledger{
		showing: uuid.New(), now: time.Date(2026, 11, 30, 19, 0, 0, 0, time.UTC),
		heads: map[uuid.UUID]int64{}, latest: map[string]int64{}, holds: map[string]*ledgerBooking{},
	}
	l.append("showing", "ShowingOpened", map[string]any{"layout": uuid.New(), "layout_version": 1}, time.Time{})
	return l
}

func (l *ledger) wait(d time.Duration) { l.now = l.now.Add(d) }

func (l *ledger) append(entity, kind string, data map[string]any, deadline time.Time) int64 {
	l.heads[l.showing]++
	seq := l.heads[l.showing]
	l.events = append(l.events, ledgerEvent{
		showing: l.showing, id: uuid.New(), seq: seq, prev: l.latest[entity], entity: entity, kind: kind, data: data, deadline: deadline, at: l.now,
	})
	l.latest[entity] = seq
	return seq
}

// seat appends a seat's event.
func (l *ledger) seat(b *ledgerBooking, seat, previous, current, why string, deadline time.Time) {
	l.append("seat:"+seat, "SeatStatusChanged", map[string]any{
		"booking": b.id, "seat": seat, "previous": previous, "current": current, "why": why, "who": b.session,
	}, deadline)
}

// booking appends a booking's event, as it is by now.
func (l *ledger) booking(b *ledgerBooking, kind, why string, who uuid.UUID) {
	deadline := time.Time{}
	if b.state == "held" {
		deadline = b.deadline
	}
	b.seq = l.append("booking:"+b.id.String(), kind, map[string]any{
		"booking": b.id, "session": b.session, "state": b.state, "seats": slices.Clone(b.seats), "why": why, "who": who,
		"total": map[string]any{"amount": 1200, "currency": "EUR"},
	}, deadline)
}

// done records a command and what its client was told, and lets a second pass.
func (l *ledger) done(who string, b *ledgerBooking, kind history.Kind, status int, asked ...string) *history.Op {
	key := who + "-" + string(kind) + "-" + l.now.Format("05")
	l.commands = append(l.commands, ledgerCommand{session: b.session, booking: b.id, key: key, status: status, seq: b.seq})
	op := history.Op{
		Session: b.session, Showing: l.showing, Owner: who, Booking: b.id, Key: key, Kind: kind, Seats: asked,
		Call: l.now.Add(-5 * time.Millisecond), Return: l.now.Add(5 * time.Millisecond), Outcome: history.OK, Status: status, Attempts: 1,
	}
	if kind != history.Release {
		op.State, op.After, op.Seq = b.state, slices.Clone(b.seats), b.seq
		if b.state == "held" {
			op.Expires = b.deadline
		}
	}
	l.ops = append(l.ops, op)
	l.wait(time.Second)
	return &l.ops[len(l.ops)-1]
}

// hold makes who's booking; seats that others have are taken over.
func (l *ledger) hold(who string, seats ...string) {
	b := &ledgerBooking{id: idOf("booking of " + who), session: idOf(who), state: "held", seats: seats, deadline: l.now.Add(holdFor)}
	took := map[string]bool{}
	for _, old := range l.index {
		if old.state == "held" && slices.ContainsFunc(seats, func(seat string) bool { return slices.Contains(old.seats, seat) }) {
			had := old.seats
			l.expire(old, "takeover", b.session, seats)
			for _, seat := range had {
				took[seat] = true
			}
		}
	}
	for _, seat := range seats {
		if took[seat] {
			l.seat(b, seat, "held", "held", "takeover", b.deadline)
		} else {
			l.seat(b, seat, "available", "held", "hold", b.deadline)
		}
	}
	l.booking(b, "BookingHeld", "hold", b.session)
	l.holds[who] = b
	l.index = append(l.index, b)
	l.done(who, b, history.Hold, 201, seats...)
}

// expire ends a hold that ran out; the seats that are kept go to whoever ends it.
func (l *ledger) expire(b *ledgerBooking, why string, who uuid.UUID, kept []string) {
	had := b.seats
	b.state, b.seats = "expired", []string{}
	l.booking(b, "BookingExpired", why, who)
	for _, seat := range had {
		if !slices.Contains(kept, seat) {
			l.seat(b, seat, "held", "available", why, time.Time{})
		}
	}
}

func (l *ledger) sweep(who string) { l.expire(l.holds[who], "expire", uuid.Nil, nil) }

func (l *ledger) add(who string, seats ...string) {
	b := l.holds[who]
	for _, seat := range seats {
		l.seat(b, seat, "available", "held", "hold", b.deadline)
	}
	b.seats = append(slices.Clone(b.seats), seats...)
	l.booking(b, "BookingSeatsAdded", "hold", b.session)
	l.done(who, b, history.Add, 200, seats...)
}

func (l *ledger) giveBack(who, seat string) {
	b := l.holds[who]
	l.seat(b, seat, "held", "available", "give-back", time.Time{})
	b.seats = slices.DeleteFunc(slices.Clone(b.seats), func(s string) bool { return s == seat })
	kind := "BookingSeatGivenBack"
	if len(b.seats) == 0 {
		kind, b.state = "BookingReleased", "released"
	}
	l.booking(b, kind, "give-back", b.session)
	l.done(who, b, history.GiveBack, 200, seat)
}

func (l *ledger) confirm(who string) {
	b := l.holds[who]
	for _, seat := range b.seats {
		l.seat(b, seat, "held", "sold", "confirm", time.Time{})
	}
	b.state = "confirmed"
	l.booking(b, "BookingConfirmed", "confirm", b.session)
	l.done(who, b, history.Confirm, 200, b.seats...)
}

func (l *ledger) release(who string) {
	b := l.holds[who]
	had := b.seats
	for _, seat := range had {
		l.seat(b, seat, "held", "available", "release", time.Time{})
	}
	b.state, b.seats = "released", []string{}
	l.booking(b, "BookingReleased", "release", b.session)
	l.done(who, b, history.Release, 204, had...)
}

// refuse is a hold that was refused because others have the seats.
func (l *ledger) refuse(who string, conflicts map[string]string, seats ...string) *history.Op {
	l.ops = append(l.ops, history.Op{
		Session: idOf(who), Showing: l.showing, Owner: who, Key: who + "-refused", Kind: history.Hold, Seats: seats,
		Call: l.now, Return: l.now.Add(10 * time.Millisecond), Outcome: history.Refused, Status: 409, Problem: "seats-unavailable",
		Conflicts: conflicts, Attempts: 1,
	})
	l.wait(time.Second)
	return &l.ops[len(l.ops)-1]
}

// event finds the n-th event (from 0) of a kind about an entity.
func (l *ledger) event(kind, entity string, n int) *ledgerEvent {
	for i := range l.events {
		if e := &l.events[i]; e.kind == kind && e.entity == entity {
			if n == 0 {
				return e
			}
			n--
		}
	}
	panic("no such event: " + kind + " of " + entity)
}

// drop takes events away, and closes the gaps in the numbers: as if they had never been written.
func (l *ledger) drop(which func(*ledgerEvent) bool) {
	l.events = slices.DeleteFunc(l.events, func(e ledgerEvent) bool { return which(&e) })
	latest, place := map[string]int64{}, map[int64]int64{}
	for i := range l.events {
		e := &l.events[i]
		place[e.seq] = int64(i + 1)
		e.seq, e.prev = int64(i+1), latest[e.entity]
		latest[e.entity] = e.seq
	}
	l.heads[l.showing] = int64(len(l.events))
	for _, b := range l.index {
		b.seq = place[b.seq]
	}
	for i := range l.commands {
		l.commands[i].seq = place[l.commands[i].seq]
	}
	for i := range l.ops {
		l.ops[i].Seq = place[l.ops[i].Seq]
	}
}

func (l *ledger) op(who string, kind history.Kind) *history.Op {
	for i := range l.ops {
		if l.ops[i].Owner == who && l.ops[i].Kind == kind {
			return &l.ops[i]
		}
	}
	panic("no such command")
}

// write puts the ledger into tables of the test's own, without what would keep a wrong one out.
func (l *ledger) write(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), stacktest.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	migration, err := os.ReadFile("../../../eventstore/migrations/00001_log.sql")
	require.NoError(t, err)
	_, up, found := strings.Cut(string(migration), "-- +goose Up")
	require.True(t, found)
	up, _, found = strings.Cut(up, "-- +goose Down")
	require.True(t, found)
	_, err = conn.Exec(t.Context(), up)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `
		ALTER TABLE events DROP CONSTRAINT events_guard;
		ALTER TABLE events DROP CONSTRAINT events_check;
		ALTER TABLE commands DROP CONSTRAINT commands_pkey;
		DROP INDEX bookings_one_hold;
		INSERT INTO log (id, fingerprint) VALUES ('k3f9', '-')`)
	require.NoError(t, err)
	l.insert(t, conn)
	return conn
}

func (l *ledger) insert(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	batch := &pgx.Batch{}
	last := map[uuid.UUID]uuid.UUID{}
	for _, e := range l.events {
		data, err := json.Marshal(e.data)
		require.NoError(t, err)
		batch.Queue(`INSERT INTO events VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			e.showing, e.seq, e.id, e.entity, e.prev, e.kind, data, orNull(e.deadline), e.at)
		last[e.showing] = e.id
	}
	for showing, head := range l.heads {
		batch.Queue(`INSERT INTO streams (id, head, event) VALUES ($1, $2, $3)`, showing, head, last[showing])
	}
	for _, b := range l.index {
		deadline := orNull(b.deadline)
		if b.state != "held" {
			deadline = nil
		}
		batch.Queue(`INSERT INTO bookings VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, $9)`,
			b.id, l.showing, b.session, b.state == "held", b.state, len(b.seats), deadline, b.seq, l.now)
	}
	for _, c := range l.commands {
		batch.Queue(`INSERT INTO commands VALUES ($1, $2, 'a route', '', $3, $4, $5, $6, $7)`,
			c.session, c.key, c.booking, c.status, l.showing, c.seq, l.now)
	}
	require.NoError(t, conn.SendBatch(t.Context(), batch).Close())
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
