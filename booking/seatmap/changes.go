package seatmap

import (
	"cmp"
	"slices"

	"github.com/aislehq/aisle/booking"
)

// seats are the statuses of a showing's seats in the layout's order, with the order in which they
// changed. It is a view of a booking.State that costs little to keep: what changed since any seq is found
// by walking back over the latest changes, so no list of past deltas is needed.
type seats struct {
	codes []booking.Seat
	// place finds a seat by its entity.
	place  map[string]int
	status []booking.Status
	// last is the seq of each seat's latest event, 0 for none.
	last      []int64
	available int
	// recent has each seat's latest change, and some that are not the latest any more, by seq.
	recent []change
}

type change struct {
	seq   int64
	place int
}

func newSeats(codes []booking.Seat) *seats {
	s := &seats{
		codes:  codes,
		place:  make(map[string]int, len(codes)),
		status: make([]booking.Status, len(codes)),
		last:   make([]int64, len(codes)),
	}
	for i, code := range codes {
		s.place[booking.SeatEntity(code)] = i
	}
	s.reset(booking.NewState())
	return s
}

// reset takes over a whole state.
func (s *seats) reset(state *booking.State) {
	s.recent = s.recent[:0]
	s.available = 0
	for i, code := range s.codes {
		s.status[i], s.last[i] = booking.Available, 0
		if seat, ok := state.Seats[code]; ok {
			s.status[i], s.last[i] = seat.Status, seat.Seq
			s.recent = append(s.recent, change{seq: seat.Seq, place: i})
		}
		if s.status[i] == booking.Available {
			s.available++
		}
	}
	slices.SortFunc(s.recent, func(a, b change) int { return cmp.Compare(a.seq, b.seq) })
}

// follow takes over what an event that was just applied to the state did to its seat.
func (s *seats) follow(entity string, state *booking.State) {
	i, ok := s.place[entity]
	if !ok {
		return
	}
	seat := state.Seats[s.codes[i]]
	if s.status[i] == booking.Available {
		s.available--
	}
	if seat.Status == booking.Available {
		s.available++
	}
	s.status[i], s.last[i] = seat.Status, seat.Seq
	if len(s.recent) >= 2*len(s.codes) {
		s.recent = slices.DeleteFunc(s.recent, func(c change) bool { return s.last[c.place] != c.seq })
	}
	s.recent = append(s.recent, change{seq: seat.Seq, place: i})
}

// since are the seats whose latest event is after seq, as they are now. Laid over the map at seq, they
// make the map of now.
func (s *seats) since(seq int64) map[booking.Seat]booking.Status {
	changed := map[booking.Seat]booking.Status{}
	for i := len(s.recent) - 1; i >= 0 && s.recent[i].seq > seq; i-- {
		c := s.recent[i]
		if s.last[c.place] == c.seq {
			changed[s.codes[c.place]] = s.status[c.place]
		}
	}
	return changed
}
