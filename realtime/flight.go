package realtime

import (
	"sync/atomic"
	"time"
)

// flight is a room's messages on their way to the sockets. It lands when every shard has had its
// turn at all of them; sockets that take nothing have left the shard by then and hold nothing up.
// A room has one at a time, so it sends no faster than its sockets can be written to.
type flight struct {
	room    *room
	left    atomic.Int32
	began   time.Time
	sockets int
}

// takeOff begins behind the turns that the messages were given.
func (f *flight) takeOff(shards []*shard, began time.Time, sockets int) {
	f.began, f.sockets = began, sockets
	f.left.Store(int32(len(shards))) //nolint:gosec // As many as there are writers.
	for _, s := range shards {
		s.push(turn{flight: f})
	}
}

func (f *flight) underWay() bool { return f.left.Load() > 0 }

// landed is what each shard says when it comes to the flight.
func (f *flight) landed() {
	began, sockets := f.began, f.sockets
	if f.left.Add(-1) > 0 {
		return
	}
	f.room.hub.cfg.Metrics.Broadcast(time.Since(began), sockets)
	f.room.poke()
}
