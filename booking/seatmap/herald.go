package seatmap

import (
	"sync"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
)

// heraldMemory is how many bookings a herald remembers at least.
const heraldMemory = 4096

// herald tells of bookings that changed, each change once though it is heard of in several ways (the
// replica's own append, a delta, the log, the bookings' channel), and never an older one after a newer.
type herald struct {
	hook func(booking.Booking)

	mu sync.Mutex
	// told has the seq that was last told of each booking. When young is full it becomes old.
	young, old map[told]int64
}

type told struct {
	log     string
	booking uuid.UUID
}

// tell calls the hook under the lock, so that changes of a booking can't overtake each other.
func (h *herald) tell(log string, b booking.Booking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := told{log: log, booking: b.ID}
	last, ok := h.young[key]
	if !ok {
		last = h.old[key]
	}
	if b.Seq <= last {
		return
	}
	if h.young == nil || len(h.young) >= heraldMemory {
		h.old, h.young = h.young, make(map[told]int64, heraldMemory)
	}
	h.young[key] = b.Seq
	h.hook(b)
}
