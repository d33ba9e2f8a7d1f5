package seatmap

import (
	"errors"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
)

// Sentinels of this package.
var (
	// ErrUnknownShowing: the catalogue has no such showing.
	ErrUnknownShowing = errors.New("seatmap: unknown showing")
	// ErrClosed: Live's Run has ended.
	ErrClosed = errors.New("seatmap: closed")
	// ErrAhead: the log itself has not come as far as the seq that was asked for: it belongs to another log.
	ErrAhead = errors.New("seatmap: seq is ahead of the log")
	// ErrSuperseded: Redis has seen a later term's writes; this term is over.
	ErrSuperseded = errors.New("seatmap: a later leader has written")
)

// DefaultPrefix stands before every key and channel of Aisle in Redis.
const DefaultPrefix = "aisle:"

// Layouts knows the seats of each showing, from memory.
type Layouts interface {
	// Seats are all seats of the showing's layout, in the layout's order, without repeats; the caller
	// doesn't change them. False when there is no such showing.
	Seats(showing uuid.UUID) ([]booking.Seat, bool)
}

// SnapshotKey is the Redis key of a showing's snapshot. All keys of a showing share one cluster slot.
func SnapshotKey(prefix string, showing uuid.UUID) string {
	return prefix + "{" + showing.String() + "}:snapshot"
}

// DeltaChannel is the Redis channel that carries a showing's deltas.
func DeltaChannel(prefix string, showing uuid.UUID) string {
	return prefix + "{" + showing.String() + "}:delta"
}

// HintChannel is the Redis channel that says which showing has new events.
func HintChannel(prefix string) string { return prefix + "hints" }

// BookingsChannel is the Redis channel that carries the bookings' own events of all showings.
func BookingsChannel(prefix string) string { return prefix + "bookings" }
