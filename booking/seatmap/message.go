package seatmap

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// maxDeltaEvents is how many events a published delta may carry. A longer one travels without its
// events: whoever needs them reads the log.
const maxDeltaEvents = 256

// deltaMessage is what the projector publishes after each write of a snapshot: the events Prev+1 … Seq.
type deltaMessage struct {
	Log   string `json:"log"`
	Epoch int64  `json:"epoch"`
	Prev  int64  `json:"prev"`
	Seq   int64  `json:"seq"`
	// Events is empty when there were more than maxDeltaEvents.
	Events []eventstore.Event `json:"events,omitempty"`
}

func encodeDelta(log string, epoch, prev int64, events []eventstore.Event) ([]byte, error) {
	m := deltaMessage{Log: log, Epoch: epoch, Prev: prev, Seq: events[len(events)-1].Seq}
	if len(events) <= maxDeltaEvents {
		m.Events = events
	}
	return json.Marshal(m)
}

// decodeDelta reads a delta of a showing and checks that its events are Prev+1 … Seq of that showing.
func decodeDelta(showing uuid.UUID, payload string) (deltaMessage, error) {
	var m deltaMessage
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return deltaMessage{}, fmt.Errorf("delta: %w", err)
	}
	if !isLog(m.Log) || m.Prev < 0 || m.Seq <= m.Prev {
		return deltaMessage{}, errors.New("delta: field out of range")
	}
	if len(m.Events) == 0 {
		return m, nil
	}
	if int64(len(m.Events)) != m.Seq-m.Prev {
		return deltaMessage{}, errors.New("delta: events are missing")
	}
	for i, e := range m.Events {
		if e.Stream != showing || e.Seq != m.Prev+int64(i)+1 || e.ID == uuid.Nil {
			return deltaMessage{}, fmt.Errorf("delta: event %d is out of place", i)
		}
	}
	return m, nil
}

// bookingsMessage carries bookings' own events to the replicas that don't follow their showing.
type bookingsMessage struct {
	Log    string             `json:"log"`
	Events []eventstore.Event `json:"events"`
}

// encodeBookings picks the bookings' own events; nil when there are none.
func encodeBookings(log string, events []eventstore.Event) ([]byte, error) {
	m := bookingsMessage{Log: log}
	for _, e := range events {
		if isBooking(e) {
			m.Events = append(m.Events, e)
		}
	}
	if len(m.Events) == 0 {
		return nil, nil
	}
	return json.Marshal(m)
}

// decodeBookings reads bookings' own events, and checks that they are that.
func decodeBookings(payload string) (bookingsMessage, error) {
	var m bookingsMessage
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return bookingsMessage{}, fmt.Errorf("bookings: %w", err)
	}
	if !isLog(m.Log) {
		return bookingsMessage{}, errors.New("bookings: no log")
	}
	for i, e := range m.Events {
		if !isBooking(e) || e.Stream == uuid.Nil || e.Seq < 1 {
			return bookingsMessage{}, fmt.Errorf("bookings: event %d is out of place", i)
		}
	}
	return m, nil
}

// isBooking says that the event is a booking's own.
func isBooking(e eventstore.Event) bool {
	id, ok := strings.CutPrefix(e.Entity, strings.TrimSuffix(booking.BookingEntity(uuid.Nil), uuid.Nil.String()))
	return ok && id != ""
}
