package eventstore

import "github.com/google/uuid"

// plan is when each request of a batch is judged.
type plan struct {
	// rounds has each request's round, from 1: the first in which nothing that it shares with an earlier request
	// is still undecided. Requests of one round share nothing, so that append_batch can judge them together. One thing is
	// left out: whether a booking that ends here counts with its address, which the request does not name. All of a
	// batch are under way at the same time, so that either answer to a hold of that address is right.
	rounds []int32
	last   int32
	// repeats says of each request whether an earlier one has the same command.
	repeats []bool
}

func newPlan(requests []Request) plan {
	p := plan{rounds: make([]int32, len(requests)), repeats: make([]bool, len(requests))}
	decided := make(map[any]int32) // thing → the last round that may change it
	for i := range requests {
		r := &requests[i]
		p.repeats[i] = decided[commandOf{r.Command.Session, r.Command.Key}] > 0
		things := touched(r)
		round := int32(1)
		for _, thing := range things {
			round = max(round, decided[thing]+1)
		}
		for _, thing := range things {
			decided[thing] = round
		}
		p.rounds[i] = round
		p.last = max(p.last, round)
	}
	return p
}

// The things that two requests can share, so that one's verdict depends on the other's.
type (
	entityOf struct {
		stream uuid.UUID
		entity string
	}
	commandOf struct {
		session uuid.UUID
		key     string
	}
	holdOf    struct{ stream, session uuid.UUID }
	addressOf struct{ address string }
)

func touched(r *Request) []any {
	things := make([]any, 0, len(r.Events)+2*len(r.Bookings)+1)
	for i := range r.Events {
		things = append(things, entityOf{r.Stream, r.Events[i].Entity})
	}
	if r.Command.Key != "" {
		things = append(things, commandOf{r.Command.Session, r.Command.Key})
	}
	for i := range r.Bookings {
		things = append(things, holdOf{r.Stream, r.Bookings[i].Session})
		if r.MaxHeldSeats > 0 {
			things = append(things, addressOf{r.Bookings[i].Address})
		}
	}
	return things
}
