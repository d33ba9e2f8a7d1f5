package measure

import (
	"math/bits"
	"time"
)

const (
	// subBits is how finely a power of two is divided: 64 parts, so that a value is wrong by at most 1/64.
	subBits = 6
	subs    = 1 << subBits
	// powers covers 2^(subBits+powers) ns, above 9 minutes; what is longer counts as that.
	powers = 33
)

// Histogram counts durations in fixed space. It isn't safe for concurrent use: each goroutine fills its own, and Merge
// joins them. The zero value is empty.
type Histogram struct {
	counts [(powers + 1) * subs]uint64
	total  uint64
}

// Add counts a duration; a negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	h.counts[slot(d)]++
	h.total++
}

// Merge adds what another has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range &other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// Count is how many durations were added.
func (h *Histogram) Count() uint64 { return h.total }

// Quantile is a duration that a share q (0 – 1) of all lie at or below; 0 when there is none.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := uint64(q * float64(h.total-1))
	var seen uint64
	for i, n := range &h.counts {
		seen += n
		if seen > rank {
			return value(i)
		}
	}
	return value(len(h.counts) - 1)
}

// slot is the place of a duration: exact below subs ns, then subs places a power of two.
func slot(d time.Duration) int {
	if d < subs {
		return int(max(d, 0))
	}
	power := bits.Len64(uint64(d)) - 1 - subBits // how often it must be halved to lie in subs … 2·subs-1
	if power >= powers {
		return (powers+1)*subs - 1
	}
	return power*subs + int(d>>power)
}

// value is the middle of a place.
func value(slot int) time.Duration {
	if slot < 2*subs {
		return time.Duration(slot)
	}
	power := slot/subs - 1
	low := time.Duration(slot-power*subs) << power
	return low + (1<<power)/2
}
