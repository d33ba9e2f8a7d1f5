package eventstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pauses between the attempts to look up a lost append.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// commandKey names a recorded command.
type commandKey = commandOf

// resolve finds out what became of a flush whose answer was lost: by the requests' commands, on another
// connection, for at most LookupTimeout. It repeats nothing.
func (s *Store) resolve(ctx context.Context, requests []Request, f fate, cause error) []answer {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.LookupTimeout)
	defer cancel()
	found, err := s.recallPatiently(ctx, requests)
	if err != nil {
		return sameAnswer(requests, fmt.Errorf("%w: %w; look-up: %w", ErrOutcomeUnknown, cause, err))
	}
	answers := make([]answer, len(requests))
	for i := range requests {
		answers[i] = settle(&requests[i], found, f, cause)
	}
	return answers
}

// settle is the answer to one request of a lost flush after the look-up.
func settle(req *Request, found map[commandKey]recordedRow, f fate, cause error) answer {
	c := req.Command
	row, ok := found[commandKey{c.Session, c.Key}]
	switch {
	case ok:
		res, err := replay(c, row, row.At.UTC())
		return answer{res, err}
	case f == fateKilled && c.Key != "":
		return answer{err: nothingDone(f, cause)}
	default:
		return answer{err: fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)}
	}
}

// recallPatiently repeats the look-up, which changes nothing, until it succeeds or ctx ends.
func (s *Store) recallPatiently(ctx context.Context, requests []Request) (map[commandKey]recordedRow, error) {
	pause := firstPause
	for {
		found, err := s.recall(ctx, requests)
		if err == nil {
			return found, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// recall reads the recorded commands of requests, after whoever still holds one of their streams.
func (s *Store) recall(ctx context.Context, requests []Request) (map[commandKey]recordedRow, error) {
	var streams, sessions [][16]byte
	var keys []string
	for i := range requests {
		c := requests[i].Command
		if c.Key == "" {
			continue
		}
		streams = append(streams, requests[i].Stream)
		sessions = append(sessions, c.Session)
		keys = append(keys, c.Key)
	}
	found := make(map[commandKey]recordedRow, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	rows, err := s.pool.Query(ctx, recallSQL, streams, sessions, keys)
	if err != nil {
		return nil, readError(ctx, "recall", err)
	}
	recorded, err := pgx.CollectRows(rows, scanRecorded)
	if err != nil {
		return nil, readError(ctx, "recall", err)
	}
	for _, r := range recorded {
		found[commandKey{r.Session, r.Key}] = r
	}
	return found, nil
}
