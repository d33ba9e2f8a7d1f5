package rows

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/cmd/aislebench/engine"
	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/lock"
)

const (
	// allocCalls is how many calls are counted, shortCalls with a short run.
	allocCalls, shortCalls = 1000, 100

	allocations measure.Figure = "allocations"
	allocated   measure.Figure = "allocated"
	perCall     measure.Figure = "per call"
)

// Allocating is the row of the memory that one call asks for.
func Allocating(ctx context.Context, b *Bench) (measure.Report, error) {
	e, err := b.engine(ctx, engine.Config{WithoutProjector: true})
	if err != nil {
		return measure.Report{}, err
	}
	defer e.Close()
	logs, err := b.newLogs(ctx)
	if err != nil {
		return measure.Report{}, err
	}
	defer logs.close()
	site, err := e.Site()
	if err != nil {
		return measure.Report{}, err
	}
	calls := allocCalls
	if b.Short {
		calls = shortCalls
	}
	results, err := measure.Alternate(ctx, b.rounds(), []measure.Contestant{
		{Name: "hold 2 seats, then confirm", Round: func(ctx context.Context) (measure.Sample, error) { return allocSelling(ctx, e, calls) }},
		{Name: "append a hold to the log", Round: func(ctx context.Context) (measure.Sample, error) {
			return counted(calls, func(int) error {
				_, err := logs.store.Append(ctx, wholeHold.request(logs.streams[0]))
				return err
			})
		}},
		{Name: "lock and unlock 3 seats", Round: func(ctx context.Context) (measure.Sample, error) { return allocLocking(ctx, e.Locker(), calls) }},
		{Name: "GET seats", Round: func(ctx context.Context) (measure.Sample, error) { return allocReading(ctx, e, site, calls) }},
	})
	if err != nil {
		return measure.Report{}, err
	}
	return measure.Report{
		Title: "Memory that one call asks for",
		About: fmt.Sprintf(`One caller makes %d calls, one after the other; everything that this process allocates meanwhile is counted, the making of the request and the replies of the stores
included.`, calls),
		Tables: []measure.Table{{
			Main: allocations, Results: results,
			Columns: []measure.Column{
				{Title: "allocations/call", Figure: allocations}, {Title: "bytes/call", Figure: allocated}, {Title: "time/call", Figure: perCall, Unit: measure.Seconds},
			},
		}},
	}, nil
}

// counted makes the calls and says what each asked for.
func counted(calls int, call func(i int) error) (measure.Sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for i := range calls {
		if err := call(i); err != nil {
			return nil, err
		}
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	return measure.Sample{
		allocations: float64(after.Mallocs-before.Mallocs) / float64(calls),
		allocated:   float64(after.TotalAlloc-before.TotalAlloc) / float64(calls),
		perCall:     took.Seconds() / float64(calls),
	}, nil
}

func allocSelling(ctx context.Context, e *engine.Engine, calls int) (measure.Sample, error) {
	h := newHouse(2*calls/sellSeats+1, sellSeats)
	if err := e.Prepare(ctx, h); err != nil {
		return nil, err
	}
	all := offers(h)
	s := seller{booker: e, session: uuid.New()}
	return counted(calls, func(i int) error { return s.buy(ctx, all[i]) })
}

func allocLocking(ctx context.Context, locker *lock.Locker, calls int) (measure.Sample, error) {
	showing, seats := uuid.New(), []string{"A1", "A2", "A3"}
	return counted(calls, func(int) error {
		owner := uuid.New()
		if _, err := locker.Acquire(ctx, lock.Request{Showing: showing, Seats: seats, Owner: owner, ID: "1", TTL: lockFor}); err != nil {
			return err
		}
		return locker.Release(ctx, showing, owner, "1", seats)
	})
}

func allocReading(ctx context.Context, e *engine.Engine, site http.Handler, calls int) (measure.Sample, error) {
	h := newHouse(1, readSeats)
	if err := e.Prepare(ctx, h); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://bench/api/v1/showings/"+h.Showings[0].String()+"/seats", http.NoBody)
	if err != nil {
		return nil, err
	}
	request.RemoteAddr = "127.0.0.1:1"
	return counted(calls, func(int) error {
		sink := sink{header: http.Header{}}
		site.ServeHTTP(&sink, request)
		if sink.status != http.StatusOK {
			return fmt.Errorf("GET seats: status %d", sink.status)
		}
		return nil
	})
}

// sink is a ResponseWriter that keeps only the status.
type sink struct {
	header http.Header
	status int
}

// Header is http.ResponseWriter's.
func (s *sink) Header() http.Header { return s.header }

// WriteHeader is http.ResponseWriter's.
func (s *sink) WriteHeader(status int) { s.status = status }

// Write is http.ResponseWriter's.
func (s *sink) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return len(p), nil
}
