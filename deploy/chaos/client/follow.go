package client

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// take does what a message says; its error is what is wrong with the message.
func (w *watcher) take(l *line, data []byte) error {
	var m message
	if err := decodeMessage(data, &m); err != nil {
		return err
	}
	if l.bye {
		return errors.New("a message after the bye")
	}
	switch string(m.kind) {
	case "snapshot", "delta", "stale":
		return w.takeMap(l, &m)
	case "pong":
		return nil
	case "bye":
		return w.farewell(l, &m)
	case "error":
		return errors.New("an error that the watcher did not make")
	case "booking":
		return errors.New("a booking for who has no session")
	default:
		return errors.New("a message of unknown type")
	}
}

func (w *watcher) takeMap(l *line, m *message) error {
	if string(m.showing) != w.house.showing.String() {
		return errors.New("of a showing that was not asked for")
	}
	switch string(m.kind) {
	case "snapshot":
		return w.snapshot(l, m)
	case "delta":
		return w.delta(l, m)
	default:
		if !m.hasStale {
			return errors.New("stale that does not say whether")
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stale = m.stale
		return nil
	}
}

// snapshot begins the map anew. One that can't be read whole changes nothing.
func (w *watcher) snapshot(l *line, m *message) error {
	if len(m.log) == 0 || m.seq < 0 || m.seats == nil || !m.hasStale {
		return errors.New("a snapshot without log, seq, stale or seats")
	}
	statuses, err := w.wholeMap(m)
	if err != nil {
		return err
	}
	switch {
	case string(m.log) == l.log && m.seq < l.seq:
		w.wrong(NeverBack, "a snapshot at seq %d after %d of the same log, on one line", m.seq, l.seq)
	case l.waiting && !l.answered && string(m.log) == w.log && m.seq < w.seq:
		w.all.counters.behind.Add(1)
	}
	l.log, l.seq = string(m.log), m.seq
	l.answered, l.waiting = true, false
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.statuses, statuses) || w.log != l.log || w.seq != l.seq {
		w.since = time.Now()
	}
	w.log, w.seq, w.stale, w.live, w.statuses = l.log, l.seq, m.stale, true, statuses
	return nil
}

// wholeMap reads a snapshot's seats: all of the house's, each once, and no other.
func (w *watcher) wholeMap(m *message) ([]status, error) {
	const missing = status(255)
	statuses := slices.Repeat([]status{missing}, len(w.house.seats))
	err := m.eachSeat(func(seat, text []byte) error {
		i, s, err := w.seat(seat, text)
		if err == nil {
			statuses[i] = s
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if i := slices.Index(statuses, missing); i >= 0 {
		return nil, fmt.Errorf("a snapshot without seat %s", w.house.seats[i])
	}
	return statuses, nil
}

func (w *watcher) seat(seat, text []byte) (int, status, error) {
	i, ok := w.house.index[string(seat)]
	if !ok {
		return 0, 0, fmt.Errorf("a seat that does not exist, %q", seat)
	}
	s, ok := parseStatus(text)
	if !ok {
		return 0, 0, fmt.Errorf("seat %s has status %q", seat, text)
	}
	return i, s, nil
}

// delta changes the map if it follows it; if not, the watcher subscribes again.
func (w *watcher) delta(l *line, m *message) error {
	if m.prev < 0 || m.seq < 0 || m.seats == nil {
		return errors.New("a delta without prev, seq or seats")
	}
	if m.seq < m.prev || m.seq == m.prev && string(m.seats) != "{}" {
		w.wrong(NeverBack, "a delta from seq %d to %d", m.prev, m.seq)
		w.subscribe(l, true)
		return nil
	}
	if l.waiting {
		return w.answer(l, m)
	}
	if m.prev != w.seq {
		w.all.counters.gaps.Add(1)
		w.subscribe(l, true)
		return fmt.Errorf("prev is not the seq before it, %d", w.seq)
	}
	return w.apply(l, m)
}

// answer takes a delta while the answer to a subscription is awaited.
func (w *watcher) answer(l *line, m *message) error {
	if l.resumes && m.prev == w.seq {
		l.log, l.seq = w.log, w.seq
		l.answered, l.waiting = true, false
		w.all.counters.resumes.Add(1)
		return w.apply(l, m)
	}
	if l.resubscribed {
		return nil // sent before the server read the new subscription, which the answer to it will cover
	}
	w.subscribe(l, false)
	return errors.New("a delta that answers no subscription")
}

func (w *watcher) apply(l *line, m *message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := false
	err := m.eachSeat(func(seat, text []byte) error {
		i, s, err := w.seat(seat, text)
		if err != nil {
			return err
		}
		changed = changed || w.statuses[i] != s
		w.statuses[i] = s
		return nil
	})
	if changed || m.seq != w.seq {
		w.since = time.Now()
	}
	w.seq, l.seq, w.live = m.seq, m.seq, true
	return err
}
