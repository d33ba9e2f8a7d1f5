package booking

import (
	"github.com/google/uuid"
)

// View is what a command needs to know of a showing, as of Seq.
type View struct {
	Seq int64
	// Old says that the map was not compared with the log for so long that nobody is refused by it: the process stood
	// still, or the log is out of reach.
	Old bool
	// Seats has the seats asked about and all seats of Bookings; one that is missing never changed.
	Seats map[Seat]SeatState
	// Bookings has those that have one of the seats asked about, and the booking asked about.
	Bookings map[uuid.UUID]Live
	// MayHaveEnded says that the booking asked about may have been here and have no seats any more.
	// It is never false for one that was, and seldom true for one that wasn't.
	MayHaveEnded bool
}

// View shows the seats and the booking, with all that a command may need to end the bookings that
// have them. It shares nothing that Apply changes.
func (s *State) View(seats []Seat, booking uuid.UUID) View {
	v := View{
		Seq:          s.Seq,
		Seats:        make(map[Seat]SeatState, len(seats)),
		Bookings:     make(map[uuid.UUID]Live, 1),
		MayHaveEnded: s.Ended.mayHave(booking),
	}
	s.viewBooking(&v, booking)
	for _, seat := range seats {
		state, ok := s.Seats[seat]
		if !ok {
			continue
		}
		v.Seats[seat] = state
		s.viewBooking(&v, state.Booking)
	}
	return v
}

func (s *State) viewBooking(v *View, id uuid.UUID) {
	live, ok := s.Bookings[id]
	if !ok {
		return
	}
	v.Bookings[id] = live
	for _, seat := range live.Seats {
		v.Seats[seat] = s.Seats[seat]
	}
}

// Sieve remembers ids approximately, in fixed space: it never forgets one, and may take another for
// one that it has (with 1,000 ids in it about once in 80,000, with 10,000 about once in 25).
//
// A lost race is refused without asking the log, but a repeated command must find its first outcome even
// after its booking ended and others have the seats. The sieve tells the two apart without keeping
// every booking that ever was.
type Sieve []byte

const (
	sieveBits  = 1 << 16
	sieveBytes = sieveBits / 8
)

// marks are an id's bits. A booking's id is a hash, so its own bytes do; those that hold the UUID's
// version and variant are left out.
func marks(id uuid.UUID) [4]uint16 {
	pair := func(i int) uint16 { return uint16(id[i])<<8 | uint16(id[i+1]) }
	return [4]uint16{pair(0), pair(2), pair(10), pair(12)}
}

// with is the sieve with the id in it.
func (s Sieve) with(id uuid.UUID) Sieve {
	if len(s) != sieveBytes {
		s = make(Sieve, sieveBytes)
	}
	for _, bit := range marks(id) {
		s[bit/8] |= 1 << (bit % 8)
	}
	return s
}

func (s Sieve) mayHave(id uuid.UUID) bool {
	if len(s) != sieveBytes {
		return false
	}
	for _, bit := range marks(id) {
		if s[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}
