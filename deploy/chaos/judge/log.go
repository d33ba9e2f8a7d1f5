package judge

import (
	"context"
	_ "embed" // The queries lie beside their Go.
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

var (
	//go:embed queries/streams.sql
	streamsSQL string
	//go:embed queries/events.sql
	eventsSQL string
	//go:embed queries/bookings.sql
	bookingsSQL string
	//go:embed queries/commands.sql
	commandsSQL string
)

// LogSummary counts what is in the log.
type LogSummary struct {
	// Log is its id.
	Log string
	// Showings with a stream, Events in them, Bookings that ever were, Sales (those that were confirmed) and the
	// SeatsSold by them, Commands.
	Showings, Events, Bookings, Sales, SeatsSold, Commands int
}

// record is the log as it was read at one moment.
type record struct {
	f        findings
	log      string
	events   int
	heads    map[uuid.UUID]head
	folds    map[uuid.UUID]*fold
	bookings map[uuid.UUID]*booked
	index    []indexRow
	commands map[commandKey][]commandRow
}

type head struct {
	seq   int64
	event uuid.UUID
}

// indexRow is a row of the bookings' index.
type indexRow struct {
	id, showing, session uuid.UUID
	held                 bool
	state                string
	seats                int
	deadline             *time.Time
	seq                  int64
}

type commandKey struct {
	session uuid.UUID
	key     string
}

// commandRow is a command's recorded outcome.
type commandRow struct {
	commandKey
	booking uuid.UUID
	status  int
	showing uuid.UUID
	seq     int64
}

// Log judges the log by itself, and against what its clients asked for and were told: ops are all the commands that
// anybody ever sent to this log. The connection is the database's owner's, with the log's tables in its search path. An
// error means that there is no verdict.
func Log(ctx context.Context, conn *pgx.Conn, ops []history.Op) ([]Violation, LogSummary, error) {
	r := record{
		heads: map[uuid.UUID]head{}, folds: map[uuid.UUID]*fold{}, commands: map[commandKey][]commandRow{},
	}
	if err := atOnce(ctx, conn, func(tx pgx.Tx) error { return r.read(ctx, tx) }); err != nil {
		return nil, LogSummary{}, fmt.Errorf("judge: read the log: %w", err)
	}
	r.bookings = bookingsOf(r.folds)
	r.judgeHeads()
	r.judgeIndex()
	r.judgeClaims(ops)
	r.judgeOrigins(ops)
	r.judgeRefusals(ops)
	return r.f.all(), r.summary(), nil
}

func (r *record) read(ctx context.Context, tx pgx.Tx) (err error) {
	if r.log, err = logID(ctx, tx); err != nil {
		return err
	}
	var id uuid.UUID
	var h head
	if err := each(ctx, tx, streamsSQL, []any{&id, &h.seq, &h.event}, func() { r.heads[id] = h }); err != nil {
		return err
	}
	if err := r.readEvents(ctx, tx); err != nil {
		return err
	}
	var row indexRow
	fields := []any{&row.id, &row.showing, &row.session, &row.held, &row.state, &row.seats, &row.deadline, &row.seq}
	if err := each(ctx, tx, bookingsSQL, fields, func() { r.index = append(r.index, row) }); err != nil {
		return err
	}
	var c commandRow
	fields = []any{&c.session, &c.key, &c.booking, &c.status, &c.showing, &c.seq}
	return each(ctx, tx, commandsSQL, fields, func() { r.commands[c.commandKey] = append(r.commands[c.commandKey], c) })
}

// readEvents folds the events as they come.
func (r *record) readEvents(ctx context.Context, tx pgx.Tx) error {
	var e event
	var deadline *time.Time
	fields := []any{&e.stream, &e.seq, &e.id, &e.entity, &e.prev, &e.kind, &e.data, &deadline, &e.at}
	err := each(ctx, tx, eventsSQL, fields, func() {
		r.events++
		s, ok := r.folds[e.stream]
		if !ok {
			s = newFold(&r.f, e.stream)
			r.folds[e.stream] = s
		}
		e.deadline = time.Time{}
		if deadline != nil {
			e.deadline = *deadline
		}
		s.apply(&e)
	})
	for _, s := range r.folds {
		s.settle()
	}
	return err
}

// each calls f for every row, whose columns it has put into fields.
func each(ctx context.Context, tx pgx.Tx, sql string, fields []any, f func()) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		f()
		return nil
	})
	return err
}

// judgeHeads compares each showing's row with its last event.
func (r *record) judgeHeads() {
	for id, h := range r.heads {
		s, ok := r.folds[id]
		if !ok {
			r.f.add(NothingLost, "showing %s: its head is %d, and it has no events", id, h.seq)
			continue
		}
		if s.head != h.seq || s.last != h.event {
			r.f.add(NothingLost, "showing %s: its head is %d, event %s, and its last event is %d, %s", id, h.seq, h.event, s.head, s.last)
		}
	}
	for id, s := range r.folds {
		if _, ok := r.heads[id]; !ok {
			r.f.add(NothingLost, "showing %s: has %d events and no head", id, s.head)
		}
	}
}

// judgeIndex compares the bookings' index with the events.
func (r *record) judgeIndex() {
	indexed := map[uuid.UUID]bool{}
	for _, row := range r.index {
		indexed[row.id] = true
		b, ok := r.bookings[row.id]
		if !ok {
			r.f.add(NothingLost, "booking %s is in the index and has no event", row.id)
			continue
		}
		same := row.showing == b.showing && row.session == b.session && row.state == b.state && row.held == (b.state == stateHeld) &&
			row.seats == len(b.seats) && row.seq == b.seq && (!row.held || row.deadline != nil && row.deadline.Equal(b.deadline))
		if !same {
			r.f.add(NothingLost, "booking %s: the index has %s with %d seats as of %d, the events %s with %d as of %d",
				row.id, row.state, row.seats, row.seq, b.state, len(b.seats), b.seq)
		}
	}
	for id, b := range r.bookings {
		if !indexed[id] {
			r.f.add(NothingLost, "booking %s (%s) is not in the index", id, b.state)
		}
	}
}

func (r *record) summary() LogSummary {
	s := LogSummary{Log: r.log, Showings: len(r.heads), Events: r.events, Bookings: len(r.bookings)}
	for _, rows := range r.commands {
		s.Commands += len(rows)
	}
	for _, b := range r.bookings {
		if b.sale() {
			s.Sales++
			s.SeatsSold += len(b.seats)
		}
	}
	return s
}
