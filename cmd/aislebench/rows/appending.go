package rows

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
	"github.com/aislehq/aisle/eventstore"
)

const (
	// appendStreams is how many showings the callers append to.
	appendStreams = 16
	// bareBatch is how many events the bare insert has in a transaction.
	bareBatch = 100
)

// shape is what one append has.
type shape int

const (
	// oneEvent is one seat's event and nothing else.
	oneEvent shape = iota
	// wholeHold is a hold of two seats as the engine appends it: three events, the booking, the command.
	wholeHold
)

// Appending is the row of the log.
func Appending(ctx context.Context, b *Bench) (measure.Report, error) {
	l, err := b.newLogs(ctx)
	if err != nil {
		return measure.Report{}, err
	}
	defer l.close()
	report := measure.Report{
		Title: "Appending to the log",
		About: fmt.Sprintf(`So many callers append to %d showings, each its next when the last is on disk. The machine's limit is what one connection inserts into the
same tables, without numbering, guard, deadlines or verdicts, by %d events a transaction (multi-row INSERT … SELECT FROM unnest); the plain
insert is that by one append. Rates are events a second.`, appendStreams, bareBatch),
	}
	for _, s := range []struct {
		shape shape
		title string
	}{{oneEvent, "One event an append:"}, {wholeHold, "A whole hold an append (two seats' events and the booking's, its index row, the command):"}} {
		table, curve, err := b.appending(ctx, l, s.shape)
		if err != nil {
			return measure.Report{}, err
		}
		table.Title, curve.Title = s.title, "Events a second by callers. "+s.title
		report.Tables, report.Curves = append(report.Tables, table), append(report.Curves, curve)
	}
	return report, nil
}

func (b *Bench) appending(ctx context.Context, l *logs, s shape) (measure.Table, measure.Curve, error) {
	callers := []int{1, 2, 4, 8, 16, 32, 64}
	if b.Short {
		callers = []int{1, 64}
	}
	batched, plain := &bare{conn: l.conn, shape: s, batch: bareBatch}, &bare{conn: l.conn, shape: s, batch: 1}
	contestants := []measure.Contestant{
		{Name: "bare insert by 100", Round: func(ctx context.Context) (measure.Sample, error) { return batched.round(ctx, b.Round) }},
		{Name: "plain insert", Round: func(ctx context.Context) (measure.Sample, error) { return plain.round(ctx, b.Round) }},
	}
	for _, n := range callers {
		contestants = append(contestants, measure.Contestant{Name: ours + ", " + count(n, "caller"), Round: func(ctx context.Context) (measure.Sample, error) {
			return l.round(ctx, s, n, b.Round)
		}})
	}
	results, err := measure.Alternate(ctx, b.rounds(), contestants)
	if err != nil {
		return measure.Table{}, measure.Curve{}, err
	}
	one, most := results[2], results[len(results)-1]
	table := measure.Table{
		Main: measure.Rate, Results: results,
		Columns: []measure.Column{
			{Title: "events/s", Figure: measure.Rate},
			{Title: "p50", Figure: measure.P50, Unit: measure.Seconds},
			{Title: "p99", Figure: measure.P99, Unit: measure.Seconds},
			{Title: "here", Figure: measure.SelfCPU, Unit: measure.Cores},
			{Title: "PostgreSQL", Figure: measure.PostgresCPU, Unit: measure.Cores},
		},
		Ratios: []measure.Ratio{
			{Claim: "64 callers against the bare insert by 100", Value: measure.Against(most, results[0], measure.Rate), Goal: 0.7},
			{Claim: "one caller's p50 against the plain insert", Value: measure.Against(one, results[1], measure.P50), Goal: 1.15, AtMost: true},
		},
	}
	own, limit := measure.Line{Name: ours}, measure.Line{Name: "bare insert by 100"}
	for i, n := range callers {
		own.Points = append(own.Points, measure.Point{X: float64(n), Y: results[2+i].Median[measure.Rate]})
		limit.Points = append(limit.Points, measure.Point{X: float64(n), Y: results[0].Median[measure.Rate]})
	}
	return table, measure.Curve{X: "callers", Y: "events/s", Lines: []measure.Line{own, limit}}, nil
}

// logs is a log, and a connection to the same database for the bare inserts.
type logs struct {
	store   *eventstore.Store
	conn    *pgx.Conn
	streams []uuid.UUID
	close   func()
}

func (b *Bench) newLogs(ctx context.Context) (_ *logs, err error) {
	url, err := b.database(ctx, "log")
	if err != nil {
		return nil, err
	}
	if _, err := eventstore.Migrate(ctx, url, ""); err != nil {
		return nil, err
	}
	pool, err := eventstore.NewPool(ctx, url, eventstore.PoolConfig{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			pool.Close()
		}
	}()
	l := &logs{}
	if l.store, err = eventstore.Open(ctx, pool, eventstore.Config{Logger: b.Logger}); err != nil {
		return nil, err
	}
	for range appendStreams {
		id := uuid.New()
		first, err := booking.NewShowingOpened(uuid.New(), 1)
		if err != nil {
			return nil, err
		}
		if err := l.store.OpenStream(ctx, id, first); err != nil {
			return nil, err
		}
		l.streams = append(l.streams, id)
	}
	if l.conn, err = pgx.Connect(ctx, url); err != nil {
		return nil, err
	}
	if _, err := l.conn.Exec(ctx, bareSchema); err != nil {
		return nil, err
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { _ = l.store.Run(running) }) // it flushes what is queued and has nothing to say
	l.close = func() {
		end()
		done.Wait()
		_ = l.conn.Close(context.WithoutCancel(ctx))
		pool.Close()
	}
	return l, nil
}

// round lets so many callers append for a while.
func (l *logs) round(ctx context.Context, s shape, callers int, span time.Duration) (measure.Sample, error) {
	sample := measure.Sample{}
	latencies, counts := make([]measure.Histogram, callers), make([]int, callers)
	spent, err := metered(sample, func() error {
		group, ctx := errgroup.WithContext(ctx)
		end := time.Now().Add(span)
		for caller := range callers {
			group.Go(func() error {
				for time.Now().Before(end) {
					began := time.Now()
					result, err := l.store.Append(ctx, s.request(l.streams[caller%len(l.streams)]))
					if err != nil {
						return err
					}
					latencies[caller].Add(time.Since(began))
					counts[caller] += len(result.Events)
				}
				return nil
			})
		}
		return group.Wait()
	})
	if err != nil {
		return nil, err
	}
	var latency measure.Histogram
	events := 0
	for i := range callers {
		latency.Merge(&latencies[i])
		events += counts[i]
	}
	sample[measure.Rate] = float64(events) / spent.Seconds()
	sample.Latency(&latency)
	return sample, nil
}

// request is an append of that shape, of things that never changed before.
func (s shape) request(stream uuid.UUID) eventstore.Request {
	id, session := uuid.New(), uuid.New()
	code := id.String()[:8] // stands for a seat's code, and never comes twice
	hold := eventstore.Deadline{In: rivals.HoldFor}
	if s == oneEvent {
		return eventstore.Request{Stream: stream, Events: []eventstore.NewEvent{seatEvent(id, session, code, hold)}}
	}
	seats := []booking.Seat{booking.Seat(code + "a"), booking.Seat(code + "b")}
	entity := booking.BookingEntity(id)
	own := eventstore.NewEvent{Entity: entity, Type: booking.TypeBookingHeld, Deadline: hold, Data: encode(booking.BookingChanged{
		Booking: id, Session: session, State: booking.StateHeld, Seats: seats, Total: booking.Money{Amount: 2000, Currency: "EUR"}, Why: booking.WhyHold, Who: session,
	})}
	key := uuid.NewString()
	return eventstore.Request{
		Stream: stream,
		Events: []eventstore.NewEvent{seatEvent(id, session, code+"a", hold), seatEvent(id, session, code+"b", hold), own},
		Bookings: []eventstore.BookingChange{{
			ID: id, Session: session, Entity: entity, Held: true, State: string(booking.StateHeld), Seats: len(seats),
		}},
		Command: eventstore.Command{
			Session: session, Key: key, Route: "POST /api/v1/showings/{id}/bookings", Body: sha256.Sum256([]byte("{}")), Booking: id, Status: http.StatusCreated,
		},
	}
}

func seatEvent(id, session uuid.UUID, code string, hold eventstore.Deadline) eventstore.NewEvent {
	return eventstore.NewEvent{
		Entity: booking.SeatEntity(booking.Seat(code)), Type: booking.TypeSeatStatusChanged, Deadline: hold,
		Data: encode(booking.SeatStatusChanged{
			Booking: id, Seat: booking.Seat(code), Previous: booking.Available, Current: booking.Held, Why: booking.WhyHold, Who: session,
		}),
	}
}

// encode is for values that can always be encoded.
func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
