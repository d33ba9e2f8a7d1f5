package eventstore

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Booking returns a booking's index row and its latest event, of one moment.
// Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Booking(ctx context.Context, id uuid.UUID) (Booking, Event, error) {
	found, err := one(collect(ctx, s, "booking", scanBookingEvent, bookingSQL, id))
	return found.booking, found.event, err
}

// BookingsOf returns a session's bookings, each with its latest event at the same index, the last changed
// first, at most limit of them (1–10000). Errors: ErrInvalid for the limit, ErrUnavailable.
func (s *Store) BookingsOf(ctx context.Context, session uuid.UUID, limit int) ([]Booking, []Event, error) {
	if err := checkLimit(limit); err != nil {
		return nil, nil, err
	}
	found, err := collect(ctx, s, "bookings of", scanBookingEvent, bookingsOfSQL, session, limit)
	if err != nil {
		return nil, nil, err
	}
	bookings, events := make([]Booking, len(found)), make([]Event, len(found))
	for i, f := range found {
		bookings[i], events[i] = f.booking, f.event
	}
	return bookings, events, nil
}

// Expired returns the holds of the streams that are past their deadline by the database's clock, the
// longest overdue first, at most limit of them (1–10000); nil means all open streams.
// Errors: ErrInvalid for the limit, ErrUnavailable.
func (s *Store) Expired(ctx context.Context, streams []uuid.UUID, limit int) ([]Booking, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	if streams == nil {
		return collect(ctx, s, "expired", scanBooking, expiredOpenSQL, limit)
	}
	return collect(ctx, s, "expired", scanBooking, expiredSQL, streams, limit)
}

type bookingEvent struct {
	booking Booking
	event   Event
}

func scanBooking(row pgx.CollectableRow) (Booking, error) {
	var b Booking
	var deadline *time.Time
	err := row.Scan(bookingTargets(&b, &deadline)...)
	b.Deadline = utc(deadline)
	return b, err
}

func scanBookingEvent(row pgx.CollectableRow) (bookingEvent, error) {
	var b Booking
	var deadline *time.Time
	var e eventRow
	err := row.Scan(append(bookingTargets(&b, &deadline), e.targets()...)...)
	b.Deadline = utc(deadline)
	return bookingEvent{b, e.event()}, err
}

func bookingTargets(b *Booking, deadline **time.Time) []any {
	return []any{&b.ID, &b.Stream, &b.Session, &b.Held, &b.State, &b.Seats, &b.Address, deadline, &b.Seq}
}

// utc is a nullable instant in UTC, zero for null.
func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
