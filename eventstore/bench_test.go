package eventstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack"
	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/eventstore"
)

// BenchmarkAppend sets the append against the least that a log could do: the same events, gathered in the same
// way, by one INSERT … SELECT FROM unnest(…) a batch, without guard, numbering, clock, booking index or
// commands. Both run on one server with fsync, in turns, so that whatever else the machine does falls
// on both. A request is a hold of two seats, three events, with a command. The metric "of-bare" is the store's
// throughput as a share of the bare insert's; ns/op and the memory are of a request of each.
//
//	go test ./eventstore -run '^$' -bench BenchmarkAppend -benchmem
func BenchmarkAppend(b *testing.B) {
	f := durableStore(b)
	bare := &bareLog{pool: f.pool, queue: make(chan *bareRequest, 4096)}
	runUntilEnd(b, bare.run)
	for _, c := range []struct{ callers, streams int }{{1, 1}, {64, 1}, {64, 16}} {
		b.Run(fmt.Sprintf("callers=%d/streams=%d", c.callers, c.streams), func(b *testing.B) {
			compare(b, f, bare, c.callers, c.streams)
		})
	}
}

func compare(b *testing.B, f fixture, bare *bareLog, callers, streams int) {
	b.Helper()
	ids := make([]uuid.UUID, streams)
	for i := range ids {
		ids[i] = f.stream(b)
	}
	var seat atomic.Int64
	request := func(caller int) eventstore.Request {
		n := seat.Add(2)
		return hold(ids[caller%streams], uuid.New(), uuid.New(), fmt.Sprint("seat:", n), fmt.Sprint("seat:", n+1))
	}
	store := func(ctx context.Context, caller int) error {
		req := request(caller)
		req.Command = command("k")
		_, err := f.Append(ctx, req)
		return err
	}
	plain := func(ctx context.Context, caller int) error {
		req := request(caller)
		req.Stream[15] ^= 1 // not the streams of the store, whose heads wouldn't know
		return bare.append(ctx, req)
	}

	var storeTook, plainTook time.Duration
	share := 4 * callers // of each in turn
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += share {
		n := min(share, b.N-done)
		storeTook += spread(b, n, callers, store)
		plainTook += spread(b, n, callers, plain)
	}
	b.ReportMetric(float64(plainTook)/float64(storeTook), "of-bare")
	b.ReportMetric(float64(b.N)/storeTook.Seconds(), "requests/s")
	b.ReportMetric(float64(b.N)/plainTook.Seconds(), "bare-requests/s")
}

// spread shares n calls out to so many callers and says how long they took together.
func spread(b *testing.B, n, callers int, call func(ctx context.Context, caller int) error) time.Duration {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan error, callers)
	start := time.Now()
	for caller := range callers {
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				err = call(b.Context(), caller)
			}
			done <- err
		}()
	}
	for range callers {
		require.NoError(b, <-done)
	}
	return time.Since(start)
}

// durableStore is a store on a server of its own that keeps what it acknowledged.
func durableStore(b *testing.B) fixture {
	b.Helper()
	stack, err := localstack.Start(b.Context(), localstack.Config{Dir: stacktest.Dir(b), Services: localstack.Postgres})
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), 20*time.Second)
		defer cancel()
		require.NoError(b, stack.Stop(ctx))
	})
	_, err = eventstore.Migrate(b.Context(), stack.PostgresURL(), "")
	require.NoError(b, err)
	return openStore(b, stack.PostgresURL(), stack.PostgresURL(), eventstore.Config{})
}

// bareLog gathers batches as a lane does and inserts their events.
type bareLog struct {
	pool  *pgxpool.Pool
	queue chan *bareRequest
	seq   int64
}

type bareRequest struct {
	request eventstore.Request
	done    chan error
}

func (l *bareLog) append(ctx context.Context, req eventstore.Request) error {
	r := &bareRequest{req, make(chan error, 1)}
	l.queue <- r
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *bareLog) run(ctx context.Context) error {
	for {
		var taken []*bareRequest
		select {
		case <-ctx.Done():
			return nil
		case r := <-l.queue:
			taken = append(taken, r)
		}
		for len(l.queue) > 0 {
			taken = append(taken, <-l.queue)
		}
		err := l.insert(ctx, taken)
		for _, r := range taken {
			r.done <- err
		}
	}
}

func (l *bareLog) insert(ctx context.Context, taken []*bareRequest) error {
	var streams, ids [][16]byte
	var seqs, prevs []int64
	var entities, types, data []string
	for _, r := range taken {
		for _, e := range r.request.Events {
			l.seq++
			streams, ids = append(streams, r.request.Stream), append(ids, uuid.New())
			seqs, prevs = append(seqs, l.seq), append(prevs, e.Prev)
			entities, types, data = append(entities, e.Entity), append(types, e.Type), append(data, string(e.Data))
		}
	}
	_, err := l.pool.Exec(ctx, `INSERT INTO events (stream, seq, id, entity, prev, type, data, at)
		SELECT e.*, clock_timestamp()
		FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::bigint[], $6::text[], $7::json[]) AS e`,
		streams, seqs, ids, entities, prevs, types, data)
	return err
}
