package client

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// mapAge is how old a map a buyer still chooses from.
const mapAge = 1500 * time.Millisecond

// market is what one buyer knows of what is on sale. It is often behind, as a page is: then the buyer is refused.
type market struct {
	api    *API
	rng    *rand.Rand
	houses []*house
	known  []knowledge // of each of houses
}

// knowledge is the last map of a showing that the buyer saw, with what it learned since.
type knowledge struct {
	seats map[string]string // nil: never seen
	etag  string
	read  time.Time
}

const available = "available"

func newMarket(api *API, houses []*house, rng *rand.Rand) market {
	return market{api: api, rng: rng, houses: houses, known: make([]knowledge, len(houses))}
}

// choose picks a showing, every other time the hottest that is left, and 1–4 neighbouring seats in it. Now and then it
// picks seats without looking.
func (m *market) choose(ctx context.Context, url string) (*house, []string) {
	i := m.showing()
	m.look(ctx, url, i)
	n := 1 + m.rng.IntN(4)
	if m.rng.IntN(100) < 90 {
		if seats := m.free(i, n); len(seats) > 0 {
			return m.houses[i], seats
		}
	}
	h := m.houses[i]
	first := m.rng.IntN(len(h.seats))
	return h, h.seats[first:h.rowEnd(first, n)]
}

// showing is the number of a house that may have seats. All buyers think that the first such is the one to be in.
func (m *market) showing() int {
	var open []int
	for i := range m.known {
		if m.known[i].mayHaveSeats() {
			open = append(open, i)
		}
	}
	switch {
	case len(open) == 0:
		return m.rng.IntN(len(m.houses))
	case m.rng.IntN(2) == 0:
		return open[0]
	default:
		return open[m.rng.IntN(len(open))]
	}
}

func (k *knowledge) mayHaveSeats() bool {
	if k.seats == nil {
		return true
	}
	for _, status := range k.seats {
		if status == available || status == stateHeld {
			return true
		}
	}
	return false
}

// look reads the showing's map again if it is old. Without an answer the buyer goes by the old one.
func (m *market) look(ctx context.Context, url string, i int) {
	k := &m.known[i]
	if time.Since(k.read) < mapAge {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	seats, err := m.api.Seats(ctx, url, m.houses[i].showing, k.etag)
	if err != nil {
		return
	}
	k.read = time.Now()
	if seats != nil {
		k.seats, k.etag = seats.Seats, seats.ETag
	}
}

// free finds n neighbouring seats that look available, half of the time the first there are, so that buyers meet; fewer
// where n are not to be had; none if none are.
func (m *market) free(i, n int) []string {
	h, k := m.houses[i], &m.known[i]
	start := 0
	if m.rng.IntN(2) == 0 {
		start = m.rng.IntN(len(h.seats))
	}
	for ; n > 0; n-- {
		for offset := range h.seats {
			first := (start + offset) % len(h.seats)
			last := h.rowEnd(first, n)
			if last-first == n && k.allFree(h.seats[first:last]) {
				return h.seats[first:last]
			}
		}
	}
	return nil
}

func (k *knowledge) allFree(seats []string) bool {
	for _, seat := range seats {
		if k.seats[seat] != available {
			return false
		}
	}
	return true
}

// beside finds up to n seats next to those of a booking that look available.
func (m *market) beside(h *house, booked []string, n int) []string {
	if len(booked) == 0 {
		return nil
	}
	k := &m.known[slices.Index(m.houses, h)]
	first := h.index[booked[len(booked)-1]] + 1
	if first >= len(h.seats) || h.row[first] != h.row[first-1] {
		return nil
	}
	seats := h.seats[first:h.rowEnd(first, n)]
	for len(seats) > 0 && !k.allFree(seats) {
		seats = seats[:len(seats)-1]
	}
	return seats
}

// rowEnd is the end of the run of up to n seats from first on in one row.
func (h *house) rowEnd(first, n int) int {
	end := first + 1
	for end < len(h.seats) && end < first+n && h.row[end] == h.row[first] {
		end++
	}
	return end
}

// learn notes in the last map what an answer says, so that a buyer does not ask for the same taken seats at once.
func (m *market) learn(h *house, c Command, a Answer) {
	k := &m.known[slices.Index(m.houses, h)]
	if k.seats == nil {
		return
	}
	maps.Copy(k.seats, a.Conflicts)
	if !a.OK() {
		return
	}
	status := stateHeld
	switch c.Kind {
	case history.Confirm:
		status = "sold"
	case history.GiveBack, history.Release:
		status = available
	case history.Hold, history.Add:
	}
	for _, seat := range c.Seats {
		k.seats[seat] = status
	}
}
