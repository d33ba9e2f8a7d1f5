package seatmap

import (
	"context"
	"sync"
)

// queue hands shows to the workers that read the log: each show to one worker at a time and at most
// once in the queue, so that it is never longer than there are shows.
type queue struct {
	wake chan struct{}

	mu    sync.Mutex
	shows []*show
	jobs  map[*show]*job
}

// job is what is asked for, or under way, on one show.
type job struct {
	// now is the run under way, next the one that is asked for; nil when there is none.
	now, next *run
}

// run is one reading of the log for one show.
type run struct {
	// done is closed at the end; err is how it ended, to be read after that.
	done chan struct{}
	err  error
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), jobs: map[*show]*job{}}
}

// add asks for a run on the show that starts after now.
func (q *queue) add(s *show) *run {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, ok := q.jobs[s]
	if !ok {
		j = &job{}
		q.jobs[s] = j
		q.push(s)
	}
	if j.next == nil {
		j.next = &run{done: make(chan struct{})}
	}
	return j.next
}

// push appends to the queue and wakes a worker. The caller holds mu.
func (q *queue) push(s *show) {
	q.shows = append(q.shows, s)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take is the next show, or nil.
func (q *queue) take() *show {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.shows) == 0 {
		return nil
	}
	s := q.shows[0]
	q.shows = q.shows[1:]
	j := q.jobs[s]
	j.now, j.next = j.next, nil
	if len(q.shows) > 0 {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return s
}

// finish ends the run under way; the show comes again when that was asked for meanwhile.
func (q *queue) finish(s *show, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.jobs[s]
	j.now.err = err
	close(j.now.done)
	j.now = nil
	if j.next == nil {
		delete(q.jobs, s)
		return
	}
	q.push(s)
}

// work runs do for one show after the other until ctx ends.
func (q *queue) work(ctx context.Context, do func(context.Context, *show) error) error {
	for {
		s := q.take()
		if s == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-q.wake:
			}
			continue
		}
		q.finish(s, do(ctx, s))
	}
}
