package realtime

import "time"

// Metrics is told what happens, so that the caller may count it in its own way; the number of open
// sockets and rooms is for the asking at Hub.Sockets and Hub.Rooms. A function that is nil is not
// called. They are called from many goroutines and must not block.
type Metrics struct {
	// Opened: a socket was accepted.
	Opened func()
	// Closed: a socket is gone, and why: client (it hung up or the line broke), draining, slow, idle,
	// session-ended, bad-message or too-big.
	Closed func(reason string)
	// Refused: a request was answered without an upgrade, and why: origin, full, address, draining
	// or handshake.
	Refused func(reason string)
	// Frames: n sockets were given a message of this kind: snapshot, delta, stale or booking.
	Frames func(kind string, n int)
	// Dropped: n messages that waited for a slow socket were thrown away with it.
	Dropped func(n int)
	// Broadcast: a room's change went out to so many sockets. took lasts from its taking from the map
	// until every socket that could take it at once has it.
	Broadcast func(took time.Duration, sockets int)
}

func (m Metrics) withDefaults() Metrics {
	if m.Opened == nil {
		m.Opened = func() {}
	}
	if m.Closed == nil {
		m.Closed = func(string) {}
	}
	if m.Refused == nil {
		m.Refused = func(string) {}
	}
	if m.Frames == nil {
		m.Frames = func(string, int) {}
	}
	if m.Dropped == nil {
		m.Dropped = func(int) {}
	}
	if m.Broadcast == nil {
		m.Broadcast = func(time.Duration, int) {}
	}
	return m
}
