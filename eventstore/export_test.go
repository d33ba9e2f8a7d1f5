package eventstore

import "context"

// Answer is what one request of a batch gets.
type Answer struct {
	Result Result
	Err    error
}

// AppendBatch judges requests as one flush of a lane, so that tests decide what shares a batch and in which
// order it arrived. It returns the flush's statistics beside the answers.
func (s *Store) AppendBatch(ctx context.Context, requests ...Request) ([]Answer, FlushStats) {
	for i := range requests {
		normal, err := normalize(requests[i])
		if err != nil {
			panic(err)
		}
		requests[i] = normal
	}
	answers, stats := s.lanes[0].answer(ctx, requests, true)
	list := make([]Answer, len(answers))
	for i, a := range answers {
		list[i] = Answer{a.result, a.err}
	}
	return list, stats
}

// Queued is how many requests wait in all lanes.
func (s *Store) Queued() int {
	n := 0
	for _, l := range s.lanes {
		n += len(l.queue)
	}
	return n
}

// What the tests outside look at.
var (
	ErrAgain    = errAgain
	Normalize   = normalize
	FailedCheck = failedCheck
	BackOff     = backOff
)
