package seatmap

import "sync/atomic"

// counters count what happened since the start.
type counters struct {
	deltas, reads, loads atomic.Int64
}

// Stats are Live's numbers of now, for metrics and readiness.
type Stats struct {
	// Maps is how many maps are kept, Open how many of them someone has open, Stale how many are stale.
	Maps, Open, Stale int
	// Hearing says that Redis' channels are heard.
	Hearing bool
	// Deltas is how many deltas came, Reads how often the log was read, Loads how many maps were loaded
	// or rebuilt, since the start.
	Deltas, Reads, Loads int64
}

// Stats are the numbers of now.
func (l *Live) Stats() Stats {
	st := Stats{
		Hearing: l.listener != nil && l.listener.up.Load(),
		Deltas:  l.counts.deltas.Load(),
		Reads:   l.counts.reads.Load(),
		Loads:   l.counts.loads.Load(),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	st.Maps = len(l.shows)
	for _, s := range l.shows {
		open, stale := s.standingOf()
		if open {
			st.Open++
		}
		if stale {
			st.Stale++
		}
	}
	return st
}

func (s *show) standingOf() (open, stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.openers) > 0, s.stale
}
