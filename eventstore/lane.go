package eventstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// mostFlushEvents bounds what one flush carries when requests are large; the request that crosses the bound
	// still goes.
	mostFlushEvents = 4096
	// mostRounds bounds how long one flush holds its streams when all its requests want the same things; those of
	// later rounds go with the next flush.
	mostRounds = 32
)

// lane flushes the appends of its streams one batch at a time. While a flush is under way the next
// batch gathers in its queue; nobody ever waits for a batch to fill.
type lane struct {
	store  *Store
	number int
	queue  chan *pending
}

func newLane(s *Store, number, queue int) *lane {
	return &lane{store: s, number: number, queue: make(chan *pending, queue)}
}

// run flushes until the queue is closed and empty. When ctx ends before, what is left is refused.
func (l *lane) run(ctx context.Context) {
	for first := range l.queue {
		taken := l.add(nil, first)
		for taken = l.gather(taken); len(taken) > 0; taken = l.gather(taken) {
			taken = l.flush(ctx, taken)
		}
	}
}

// gather adds what waits, in arrival order.
func (l *lane) gather(taken []*pending) []*pending {
	events := 0
	for _, p := range taken {
		events += len(p.request.Events)
	}
	for len(taken) < l.store.cfg.MaxBatch && events < mostFlushEvents {
		select {
		case next, ok := <-l.queue:
			if !ok {
				return taken
			}
			taken = l.add(taken, next)
			events += len(next.request.Events)
		default:
			return taken
		}
	}
	return taken
}

// add takes a request, unless its caller gave it up.
func (l *lane) add(taken []*pending, next *pending) []*pending {
	if !next.take() {
		return taken
	}
	return append(taken, next)
}

// flush gets requests their answers, and returns those that have to wait for the next flush.
func (l *lane) flush(ctx context.Context, taken []*pending) (rest []*pending) {
	taken, rest = split(taken)
	requests := requestsOf(taken)
	start := time.Now()
	answers, stats := l.answer(ctx, requests, true)
	for i, p := range taken {
		p.answer <- answers[i]
	}
	stats.Lane, stats.Requests = l.number, len(taken)
	stats.Wait, stats.Took = start.Sub(taken[0].queued), time.Since(start)
	l.store.cfg.OnFlush(stats)
	if stats.Err != nil {
		l.store.cfg.Logger.WarnContext(ctx, "append flush failed",
			slog.Int("requests", len(taken)), slog.Any("error", stats.Err))
	}
	return rest
}

// split keeps the requests of the first rounds. The first request of all is always among them.
func split(taken []*pending) (now, rest []*pending) {
	if len(taken) <= mostRounds {
		return taken, nil
	}
	p := newPlan(requestsOf(taken))
	if p.last <= mostRounds {
		return taken, nil
	}
	for i, one := range taken {
		if p.rounds[i] <= mostRounds {
			now = append(now, one)
		} else {
			rest = append(rest, one)
		}
	}
	return now, rest
}

func requestsOf(taken []*pending) []Request {
	requests := make([]Request, len(taken))
	for i, p := range taken {
		requests[i] = *p.request
	}
	return requests
}

// answer judges requests, and where that fails finds out what became of each. With again, what the
// database refused as a whole is judged once more, one by one.
func (l *lane) answer(ctx context.Context, requests []Request, again bool) ([]answer, FlushStats) {
	b := newBatch(requests)
	stats := FlushStats{Rounds: int(b.rounds)}
	verdicts, err := l.store.judge(ctx, b)
	if err == nil {
		answers := conclude(requests, verdicts, &stats)
		return answers, stats
	}
	stats.Err = err
	switch fate := fateOf(err); {
	case fate == fateRefused && again:
		return l.oneByOne(ctx, requests), stats
	case fate == fateLost || fate == fateKilled:
		return l.store.resolve(ctx, requests, fate, err), stats
	default:
		return sameAnswer(requests, nothingDone(fate, err)), stats
	}
}

// oneByOne judges each request alone after the database refused the batch as a whole, so that a
// request with which something is wrong doesn't take the others down. Once the database is gone, the rest is not
// sent.
func (l *lane) oneByOne(ctx context.Context, requests []Request) []answer {
	answers := make([]answer, 0, len(requests))
	for i := range requests {
		alone, stats := l.answer(ctx, requests[i:i+1], false)
		answers = append(answers, alone[0])
		if stats.Err != nil && fateOf(stats.Err) != fateRefused {
			return append(answers, sameAnswer(requests[i+1:], nothingDone(fateUnsent, stats.Err))...)
		}
	}
	return answers
}

// judge calls append_batch once: one round trip, one transaction, one commit.
func (s *Store) judge(ctx context.Context, b *batch) ([]verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AppendTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, &unsentError{err}
	}
	defer conn.Release()
	// Prepared under its own name and beforehand: a failure up to here means that nothing was sent.
	if _, err := conn.Conn().Prepare(ctx, appendStatement, appendSQL); err != nil {
		return nil, &unsentError{err}
	}
	rows, err := conn.Query(ctx, appendStatement, b.args()...)
	if err != nil {
		return nil, err
	}
	// CollectRows reads to the end, past the commit: an error of the commit itself is reported too.
	verdicts, err := pgx.CollectRows(rows, scanVerdict)
	if err == nil && len(verdicts) != len(b.round) {
		err = errShort
	}
	return verdicts, err
}

func scanVerdict(row pgx.CollectableRow) (verdict, error) {
	var v verdict
	err := row.Scan(&v.kind, &v.first, &v.head, &v.at, &v.detail)
	return v, err
}

// conclude makes each request's answer of its verdict.
func conclude(requests []Request, verdicts []verdict, stats *FlushStats) []answer {
	answers := make([]answer, len(requests))
	for i, v := range verdicts {
		res, err := v.result(&requests[i])
		answers[i] = answer{res, err}
		if len(res.Events) > 0 {
			stats.Passed++
			stats.Events += len(res.Events)
		}
	}
	return answers
}

func sameAnswer(requests []Request, err error) []answer {
	answers := make([]answer, len(requests))
	for i := range answers {
		answers[i].err = err
	}
	return answers
}

// errShort: append_batch gave another number of verdicts than there were requests.
var errShort = errors.New("eventstore: verdicts missing")
