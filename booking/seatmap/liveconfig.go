package seatmap

import (
	"errors"
	"log/slog"
	"time"

	"github.com/aislehq/aisle/booking"
)

// LiveConfig are Live's settings.
type LiveConfig struct {
	// Prefix stands before every key and channel in Redis. Default DefaultPrefix.
	Prefix string
	// CheckEvery is how often the maps are compared with the log's heads. Default 1 s.
	CheckEvery time.Duration
	// CheckTimeout is how long the log may take to tell its heads. Default 1 s.
	CheckTimeout time.Duration
	// ReadTimeout is how long the log may take for one page of events. Default 5 s.
	ReadTimeout time.Duration
	// RedisTimeout is how long Redis may take for a snapshot. Default 250 ms.
	RedisTimeout time.Duration
	// StaleAfter is how long the log may be out of reach before maps are called stale. Default 2 s.
	StaleAfter time.Duration
	// HintGrace is how long a hint waits for the leader's delta before the log is read. Default 75 ms.
	HintGrace time.Duration
	// Linger is how long a map is kept right after its last opener has closed it. Default 30 s.
	Linger time.Duration
	// MaxMaps is how many maps are kept; beyond it those that nobody has open go, the longest unused
	// first. What is open stays: the catalogue is its bound. Default 512.
	MaxMaps int
	// Readers is how many maps read the log at the same time. Default 4.
	Readers int
	// Page is how many events are read at once. Default 1000.
	Page int
	// OnBooking gets each booking that changed, of whatever showing, as far as this replica hears of
	// it: in the order of the log for each booking, each change once. It must not block. Default: none.
	OnBooking func(booking.Booking)
	// Logger. Default slog.Default().
	Logger *slog.Logger
}

// WithDefaults fills in what is zero.
func (c LiveConfig) WithDefaults() LiveConfig {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.CheckEvery, time.Second},
		{&c.CheckTimeout, time.Second},
		{&c.ReadTimeout, 5 * time.Second},
		{&c.RedisTimeout, 250 * time.Millisecond},
		{&c.StaleAfter, 2 * time.Second},
		{&c.HintGrace, 75 * time.Millisecond},
		{&c.Linger, 30 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.MaxMaps == 0 {
		c.MaxMaps = 512
	}
	if c.Readers == 0 {
		c.Readers = 4
	}
	if c.Page == 0 {
		c.Page = 1000
	}
	if c.OnBooking == nil {
		c.OnBooking = func(booking.Booking) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says what is wrong with the settings.
func (c LiveConfig) Validate() error {
	for _, d := range []time.Duration{
		c.CheckEvery, c.CheckTimeout, c.ReadTimeout, c.RedisTimeout, c.StaleAfter, c.HintGrace, c.Linger,
	} {
		if d <= 0 {
			return errors.New("seatmap: durations must be positive")
		}
	}
	if c.MaxMaps < 1 || c.Readers < 1 || c.Page < 2 {
		return errors.New("seatmap: maps, readers and page must be positive, and a page more than one event")
	}
	return nil
}
