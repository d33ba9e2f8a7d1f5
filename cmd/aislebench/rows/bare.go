package rows

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

//go:embed sql/bare_schema.sql
var bareSchema string

//go:embed sql/bare_events.sql
var bareEvents string

//go:embed sql/bare_bookings.sql
var bareBookings string

//go:embed sql/bare_commands.sql
var bareCommands string

// bare is the machine's limit: the rows of an append, inserted by one connection without asking anything.
type bare struct {
	conn *pgx.Conn
	// shape is what each append has; batch is how many events go into one transaction.
	shape shape
	batch int
	seq   int64
	// stream is where the rows go.
	stream uuid.UUID
}

func (x *bare) round(ctx context.Context, span time.Duration) (measure.Sample, error) {
	sample := measure.Sample{}
	var took measure.Histogram
	events := 0
	x.stream = uuid.New()
	x.seq = 0
	ready, end := x.prepare()
	defer end()
	spent, err := metered(sample, func() error {
		for end := time.Now().Add(span); time.Now().Before(end); {
			rows := <-ready
			began := time.Now()
			if err := x.insert(ctx, rows); err != nil {
				return err
			}
			took.Add(time.Since(began))
			events += len(rows.ids)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sample[measure.Rate] = float64(events) / spent.Seconds()
	sample.Latency(&took)
	return sample, nil
}

// ahead is how many batches are made while another is inserted.
const ahead = 4

// prepare makes batches in the background, so that the connection never waits for them, until end is called.
func (x *bare) prepare() (ready <-chan bareRows, end func()) {
	made, stop := make(chan bareRows, ahead), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			var rows bareRows
			for len(rows.ids) < x.batch {
				x.seq = rows.add(x.stream, x.seq, x.shape)
			}
			select {
			case made <- rows:
			case <-stop:
				return
			}
		}
	})
	return made, func() {
		close(stop)
		done.Wait()
	}
}

// insert writes one batch in one transaction, in one round trip.
func (x *bare) insert(ctx context.Context, rows bareRows) error {
	if len(rows.bookings) == 0 {
		_, err := x.conn.Exec(ctx, bareEvents, rows.streams, rows.seqs, rows.ids, rows.entities, rows.types, rows.data)
		return err
	}
	var batch pgx.Batch // one implicit transaction
	batch.Queue(bareEvents, rows.streams, rows.seqs, rows.ids, rows.entities, rows.types, rows.data)
	batch.Queue(bareBookings, rows.bookings, rows.bookingStreams, rows.sessions, rows.bookingSeqs)
	batch.Queue(bareCommands, rows.sessions, rows.keys, rows.bookings, rows.bookingStreams, rows.bookingSeqs)
	return x.conn.SendBatch(ctx, &batch).Close()
}

// bareRows are the columns of a batch.
type bareRows struct {
	streams, ids                       []uuid.UUID
	seqs                               []int64
	entities, types, data              []string
	bookings, bookingStreams, sessions []uuid.UUID
	keys                               []string
	bookingSeqs                        []int64
}

// add adds the rows of one append after seq, and returns the last seq.
func (r *bareRows) add(stream uuid.UUID, seq int64, s shape) int64 {
	request := s.request(stream)
	for _, e := range request.Events {
		seq++
		r.streams, r.seqs, r.ids = append(r.streams, stream), append(r.seqs, seq), append(r.ids, uuid.New())
		r.entities, r.types, r.data = append(r.entities, e.Entity), append(r.types, e.Type), append(r.data, string(e.Data))
	}
	for _, b := range request.Bookings {
		r.bookings, r.bookingStreams, r.sessions = append(r.bookings, b.ID), append(r.bookingStreams, stream), append(r.sessions, b.Session)
		r.keys, r.bookingSeqs = append(r.keys, request.Command.Key), append(r.bookingSeqs, seq)
	}
	return seq
}
