package seatmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aislehq/aisle/eventstore"
)

// pruneEvery is after how many refreshes the showings are dropped whose streams were closed.
const pruneEvery = 60

// write writes a projection's snapshot and publishes its new events. Where Redis fails, the snapshot
// is left unwritten for the next refresh, and the replicas find the events in the log. The
// caller holds p.mu.
func (r *reign) write(
	ctx context.Context, p *projection, prev int64, events []eventstore.Event, freed []freedLock,
) error {
	p.unwritten = true
	ttl := r.Remaining()
	if ttl < time.Millisecond || r.down.Load() {
		return nil
	}
	request, err := r.request(p, prev, events, freed)
	if err != nil {
		return err
	}
	request.ttl = ttl
	answer, err := r.try(ctx, request)
	if err == nil && answer == answerOdd {
		// Only this term writes with its epoch, one after the other: so what is there was never written.
		r.nextRound()
		answer, err = r.try(ctx, request)
	}
	if err != nil {
		r.cfg.OnWrite("error", 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.lost(ctx, err)
		return nil
	}
	var lag time.Duration
	if len(events) > 0 {
		lag = time.Since(events[len(events)-1].At)
	}
	r.cfg.OnWrite(answer, lag)
	if answer == answerEpoch {
		return r.over()
	}
	p.unwritten = false
	return nil
}

func (r *reign) try(ctx context.Context, request writeRequest) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	request.round = r.currentRound()
	return r.scripts.runWrite(ctx, request)
}

func (r *reign) request(
	p *projection, prev int64, events []eventstore.Event, freed []freedLock,
) (writeRequest, error) {
	request := writeRequest{showing: p.id, header: p.header, locks: r.cfg.LockKey(p.id), freed: freed}
	var errs, err error
	request.state, err = json.Marshal(p.state)
	errs = errors.Join(errs, err)
	if len(events) > 0 {
		request.delta, err = encodeDelta(p.log, r.Epoch, prev, events)
		errs = errors.Join(errs, err)
		request.bookings, err = encodeBookings(p.log, events)
		errs = errors.Join(errs, err)
	}
	if errs != nil {
		return writeRequest{}, fmt.Errorf("seatmap: encode snapshot of %s: %w", p.id, errs)
	}
	return request, nil
}

// refresh gives the snapshots the lease's time to live, and writes anew what Redis lost, until ctx ends.
func (r *reign) refresh(ctx context.Context) error {
	ticker := time.NewTicker(r.cfg.RefreshEvery)
	defer ticker.Stop()
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if turn%pruneEvery == 0 {
			r.prune(ctx)
		}
		err := r.refreshAll(ctx)
		if errors.Is(err, ErrSuperseded) {
			return err
		}
		r.outage.report(ctx, err)
	}
}

func (r *reign) refreshAll(ctx context.Context) error {
	requests := r.refreshRequests()
	if len(requests) == 0 {
		// Nothing to learn from: the next write finds out whether Redis is there.
		r.down.Store(false)
		return nil
	}
	var failed error
	for len(requests) > 0 {
		batch := requests[:min(headerBatch, len(requests))]
		requests = requests[len(batch):]
		ttl := r.Remaining()
		if ttl < time.Millisecond {
			return nil
		}
		answers, err := r.tryRefresh(ctx, batch, ttl)
		if err != nil {
			r.down.Store(true)
			return err
		}
		r.down.Store(false)
		for i, answer := range answers {
			err := r.mend(ctx, batch[i], answer)
			if errors.Is(err, ErrSuperseded) || ctx.Err() != nil {
				return err
			}
			// One showing that can't be mended doesn't keep the others from it.
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (r *reign) tryRefresh(ctx context.Context, batch []refreshRequest, ttl time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	return r.scripts.runRefresh(ctx, batch, ttl)
}

func (r *reign) refreshRequests() []refreshRequest {
	all := r.all()
	requests := make([]refreshRequest, 0, len(all))
	for _, p := range all {
		p.mu.Lock()
		if p.position.Seq > 0 {
			requests = append(requests, refreshRequest{showing: p.id, header: p.header})
		}
		if p.position.Seq > 0 && !p.summed {
			r.summarise(p)
		}
		p.mu.Unlock()
	}
	return requests
}

// mend writes a snapshot anew where a refresh found that it isn't what it should be.
func (r *reign) mend(ctx context.Context, asked refreshRequest, answer string) error {
	if answer == answerEpoch {
		return r.over()
	}
	p := r.projection(asked.showing)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.position != asked.position && !p.unwritten {
		// It was written since.
		p.ahead = 0
		return nil
	}
	switch answer {
	case answerBehind:
	case answerAhead:
		// An earlier term may have written what this one has yet to read. If it is still so the next
		// time, it isn't in the log.
		p.ahead++
		if p.ahead < 2 {
			return nil
		}
		r.nextRound()
	default:
		if !p.unwritten {
			p.ahead = 0
			return nil
		}
	}
	p.ahead = 0
	if err := r.load(ctx, p, p.position.Seq); err != nil {
		return err
	}
	return r.write(ctx, p, p.position.Seq, nil, nil)
}

// prune drops the projections whose streams are not open any more: their snapshots end with their time to live.
func (r *reign) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	// First what there is, then what is open: so nothing new is taken for closed.
	all := r.all()
	heads, err := r.Projector.log.Heads(ctx, nil)
	if err != nil {
		return
	}
	for _, p := range all {
		if _, open := heads.Positions[p.id]; open {
			continue
		}
		p.mu.Lock()
		r.unload(p)
		p.header = header{}
		p.mu.Unlock()
		r.mu.Lock()
		delete(r.projections, p.id)
		r.mu.Unlock()
	}
}

// sweep expires holds: every SweepEvery, and when the next one that is known runs out.
func (r *reign) sweep(ctx context.Context) error {
	trouble := outage{logger: r.cfg.Logger, what: "holds can't be swept"}
	for {
		now := time.Now()
		wait := r.cfg.SweepEvery
		if next := r.nextDeadline(now); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
		if !pause(ctx, wait) {
			return nil
		}
		for {
			n, err := r.cfg.Sweep(ctx)
			trouble.report(ctx, err)
			if n == 0 || err != nil {
				break
			}
		}
	}
}
