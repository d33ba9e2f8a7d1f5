package realtime

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
)

// ErrUnknownShowing is what Maps.Open returns for a showing that does not exist. Whoever asked is
// told so and keeps the connection.
var ErrUnknownShowing = errors.New("realtime: unknown showing")

// Maps opens the seat maps that rooms show.
type Maps interface {
	// Open returns the map of a showing, kept right until it is closed. ctx bounds the opening only.
	// ErrUnknownShowing is final; after any other error the room tells its sockets that the map is
	// stale and tries again.
	Open(ctx context.Context, showing uuid.UUID) (Map, error)
}

// Map is one showing's seats, for one reader. Its seq only grows while its log stays the same.
type Map interface {
	// Changes is signalled after every change: of a seat, of staleness, of the log. It holds one
	// signal, so several changes may share it. Closed, it says that this Map will see no more
	// changes, and the room opens it anew.
	Changes() <-chan struct{}
	// Snapshot is the whole map as it is now.
	Snapshot() Snapshot
	// Since is what changed from seq to now, every changed seat with its present status; empty where
	// nothing did. It is false where log is another one, or seq lies too far back or in the future.
	Since(log string, seq int64) (Delta, bool)
	// CatchUp waits until the map has reached seq, asking the log at once, or ctx ends.
	CatchUp(ctx context.Context, seq int64) error
	// Close ends the map; it is called once, and nothing else after it.
	Close()
}

// Snapshot is all of a showing's seats at one seq.
type Snapshot struct {
	// Log is the id of the log that Seq counts in.
	Log string
	Seq int64
	// Stale says that the map may be older than it should be.
	Stale bool
	// Seats is a JSON object with every seat's status, {"A1":"available",…}; never changed once given.
	Seats json.RawMessage
}

// Delta is what changed between two seqs of one log.
type Delta struct {
	// Prev is the seq the change starts from, Seq the one it leads to.
	Prev, Seq int64
	// Stale says that the map at Seq may be older than it should be.
	Stale bool
	// Seats holds the changed seats with their status at Seq.
	Seats map[string]string
}
