package eventstore

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Bounds of the texts in a request, in bytes.
const (
	maxEntity = 255
	maxType   = 100
	maxKey    = 4 * 255 // 255 characters
	maxRoute  = 1024
	maxState  = 100
)

// normalize checks a request and returns a copy as the database will keep it: with ids for all events, and times in
// whole microseconds. What it lets through never fails in the database for its form, so that one
// caller's mistake doesn't fail the batch of all.
func normalize(req Request) (Request, error) {
	if req.Stream == uuid.Nil {
		return req, invalid("no stream")
	}
	if err := checkCommand(req.Command); err != nil {
		return req, err
	}
	if req.MaxHeldSeats < 0 || req.MaxHeldSeats > math.MaxInt32 {
		return req, invalid("MaxHeldSeats out of range")
	}
	for _, c := range req.Checks {
		if !storable(c.From) || !storable(c.Before) {
			return req, invalid("check out of range")
		}
	}
	events, err := normalizeEvents(req.Events)
	if err != nil {
		return req, err
	}
	req.Events = events
	return req, checkBookings(req)
}

func checkCommand(c Command) error {
	switch {
	case !storableText(c.Key, 0, maxKey):
		return invalid("command key")
	case !storableText(c.Route, 0, maxRoute):
		return invalid("command route")
	case c.Status < 0 || c.Status > 999:
		return invalid("command status")
	}
	return nil
}

func normalizeEvents(given []NewEvent) ([]NewEvent, error) {
	if len(given) == 0 || len(given) > MaxEvents {
		return nil, invalid("%d events", len(given))
	}
	seen := make(map[string]struct{}, len(given))
	events := make([]NewEvent, len(given))
	for i, e := range given {
		if err := checkEvent(e); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		if _, twice := seen[e.Entity]; twice {
			return nil, invalid("two events for %q", e.Entity)
		}
		seen[e.Entity] = struct{}{}
		if e.ID == uuid.Nil {
			id, err := uuid.NewV7()
			if err != nil {
				return nil, fmt.Errorf("eventstore: event id: %w", err)
			}
			e.ID = id
		}
		e.Deadline.At = e.Deadline.At.Truncate(time.Microsecond)
		e.Deadline.In = e.Deadline.In.Truncate(time.Microsecond)
		events[i] = e
	}
	return events, nil
}

func checkEvent(e NewEvent) error {
	switch {
	case !storableText(e.Entity, 1, maxEntity):
		return invalid("entity")
	case !storableText(e.Type, 1, maxType):
		return invalid("type")
	case e.Prev < 0:
		return invalid("prev")
	case !isObject(e.Data):
		return invalid("data is not a JSON object of at most %d bytes", MaxData)
	case e.Deadline.In < 0 || (e.Deadline.In > 0 && !e.Deadline.At.IsZero()) || !storable(e.Deadline.At):
		return invalid("deadline")
	}
	return nil
}

func checkBookings(req Request) error {
	ids := make(map[uuid.UUID]struct{}, len(req.Bookings))
	holders := make(map[uuid.UUID]struct{}, len(req.Bookings))
	for _, b := range req.Bookings {
		if _, twice := ids[b.ID]; twice {
			return invalid("two changes of booking %s", b.ID)
		}
		ids[b.ID] = struct{}{}
		if _, twice := holders[b.Session]; twice && b.Held {
			return invalid("two holds for session %s", b.Session)
		}
		if b.Held {
			holders[b.Session] = struct{}{}
		}
		switch {
		case place(req.Events, b.Entity) < 0:
			return invalid("booking %s has no event", b.ID)
		case !storableText(b.State, 1, maxState) || !storableText(b.Address, 0, maxKey):
			return invalid("booking state or address")
		case b.Seats < 0 || b.Seats > math.MaxInt32:
			return invalid("booking seats")
		}
	}
	return nil
}

// place is the index of the entity's event, or -1.
func place(events []NewEvent, entity string) int {
	for i, e := range events {
		if e.Entity == entity {
			return i
		}
	}
	return -1
}

// window is the span of the clock in which all checks pass: from ≤ now < before; zero for any.
func window(checks []Check) (from, before time.Time) {
	for _, c := range checks {
		if c.From.After(from) {
			from = c.From
		}
		if !c.Before.IsZero() && (before.IsZero() || c.Before.Before(before)) {
			before = c.Before
		}
	}
	return from.Truncate(time.Microsecond), before.Truncate(time.Microsecond)
}

// failedCheck is the index of the first check that the clock fails, or -1.
func failedCheck(checks []Check, now time.Time) int {
	for i, c := range checks {
		from, before := window([]Check{c})
		if now.Before(from) || (!before.IsZero() && !now.Before(before)) {
			return i
		}
	}
	return -1
}

// storable says whether PostgreSQL and JSON can both write the instant; zero counts as none.
func storable(t time.Time) bool { return t.IsZero() || (t.Year() >= 1 && t.Year() <= 9999) }

// storableText says whether PostgreSQL takes the text.
func storableText(s string, shortest, longest int) bool {
	return len(s) >= shortest && len(s) <= longest && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// isObject says whether the body is a JSON object, with nothing around it, that PostgreSQL takes.
func isObject(data json.RawMessage) bool {
	return len(data) >= 2 && len(data) <= MaxData && data[0] == '{' && data[len(data)-1] == '}' &&
		utf8.Valid(data) && json.Valid(data)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
