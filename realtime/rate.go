package realtime

import "time"

// rate allows so many messages within any one second. It remembers when the last of them came,
// in milliseconds since it began, which makes it exact at both ends and small: one lies in memory
// for every socket.
type rate struct {
	began time.Time
	at    []uint32
	next  int
	full  bool
}

func newRate(perSecond int, now time.Time) rate {
	return rate{began: now, at: make([]uint32, perSecond)}
}

// allow counts one message and says whether it is within the rate.
func (r *rate) allow(now time.Time) bool {
	//nolint:gosec // The count wraps round after 49 days; differences stay right across that, and no socket is silent for that long.
	ms := uint32(now.Sub(r.began).Milliseconds())
	oldest := r.at[r.next]
	r.at[r.next] = ms
	within := !r.full || ms-oldest >= 1000
	r.next++
	if r.next == len(r.at) {
		r.next, r.full = 0, true
	}
	return within
}
