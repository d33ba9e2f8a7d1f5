package judge

import (
	"time"

	"github.com/google/uuid"
)

// View is a showing's map as one watcher has it. It has the fields of the clients' own, so that one converts to the
// other; Live and Since count for nothing here.
type View struct {
	Watcher int // its number
	Showing uuid.UUID
	Log     string
	Seq     int64
	Stale   bool
	Live    bool
	Seats   map[string]string
	Since   time.Time
}

// Watchers compares what every watcher shows with the log: the same log, the head's seq, not stale, the same
// status of every seat. A seat that any watcher of a showing has, all must have.
func Watchers(views []View, maps map[uuid.UUID]Map) []Violation {
	var f findings
	seats := seatsSeen(views)
	for i := range views {
		compareView(&f, &views[i], maps, seats[views[i].Showing])
	}
	return f.all()
}

// seatsSeen are the seats of each showing that anybody shows.
func seatsSeen(views []View) map[uuid.UUID]map[string]bool {
	seen := map[uuid.UUID]map[string]bool{}
	for _, v := range views {
		all, ok := seen[v.Showing]
		if !ok {
			all = map[string]bool{}
			seen[v.Showing] = all
		}
		for seat := range v.Seats {
			all[seat] = true
		}
	}
	return seen
}

func compareView(f *findings, v *View, maps map[uuid.UUID]Map, seats map[string]bool) {
	m, ok := maps[v.Showing]
	if !ok {
		f.add(WatchersRight, "watcher %d: showing %s is not in the log", v.Watcher, v.Showing)
		return
	}
	if v.Log != m.Log || v.Seq != m.Seq || v.Stale {
		f.add(WatchersRight, "watcher %d: showing %s: expected seq %d of log %s, got seq %d of log %q (stale: %v)",
			v.Watcher, v.Showing, m.Seq, m.Log, v.Seq, v.Log, v.Stale)
	}
	for seat := range seats {
		if got, want := v.Seats[seat], m.status(seat); got != want {
			f.add(WatchersRight, "watcher %d: showing %s: seat %s: expected %s, got %q", v.Watcher, v.Showing, seat, want, got)
		}
	}
	for seat, want := range m.Seats {
		if !seats[seat] {
			f.add(WatchersRight, "watcher %d: showing %s: seat %s: expected %s, got none", v.Watcher, v.Showing, seat, want)
		}
	}
}
