package booking

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// maxBookings is how many of a session's bookings Bookings shows.
const maxBookings = 100

// Booking is one of the session's bookings. A hold past its end is shown as expired, swept or not.
// Errors: ErrNotFound (also when it is another session's), ErrUnavailable.
func (s *Service) Booking(ctx context.Context, session, id uuid.UUID) (Booking, error) {
	row, event, err := s.log.Booking(ctx, id)
	if err != nil {
		return Booking{}, fromLog(err)
	}
	if row.Session != session {
		return Booking{}, ErrNotFound
	}
	s.sample(ctx, row.Stream)
	booking, err := s.read(event)
	if err != nil {
		return Booking{}, err
	}
	return booking.asOfNow(), nil
}

// Bookings are the session's, newest first, at most 100. Errors: ErrUnavailable.
func (s *Service) Bookings(ctx context.Context, session uuid.UUID) ([]Booking, error) {
	rows, events, err := s.log.BookingsOf(ctx, session, maxBookings)
	if err != nil {
		return nil, fromLog(err)
	}
	bookings := make([]Booking, 0, len(events))
	if len(rows) > 0 {
		s.sample(ctx, rows[0].Stream)
	}
	for _, event := range events {
		booking, err := s.read(event)
		if err != nil {
			return nil, err
		}
		bookings = append(bookings, booking.asOfNow())
	}
	return bookings, nil
}

// asOfNow is the booking as its owner should see it: a hold past its end has expired.
func (b Booking) asOfNow() Booking {
	if b.State != StateHeld || b.Now.Before(b.ExpiresAt) {
		return b
	}
	b.State, b.Seats, b.ExpiresAt = StateExpired, []Seat{}, time.Time{}
	b.Total = Money{Currency: b.Total.Currency}
	return b
}

// sample asks for the database's time when there was no news of it lately. One call at a time does;
// the others go on with what is known, and so do all when the log can't be asked.
func (s *Service) sample(ctx context.Context, showing uuid.UUID) {
	if s.clock.fresh() || !s.sampling.TryLock() {
		return
	}
	defer s.sampling.Unlock()
	if heads, err := s.log.Heads(ctx, []uuid.UUID{showing}); err == nil {
		s.clock.observe(heads.Now)
	}
}
