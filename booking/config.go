package booking

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// Config sets up a Service. The zero value of each field takes the default named beside it.
type Config struct {
	// HoldFor is how long a hold lasts from its first seat. Default 10 min; 1 ms – 24 h.
	HoldFor time.Duration
	// MaxSeats is the most seats one booking may have. Default 10; 1–1000.
	MaxSeats int
	// LockFor is how long a seat's lock lives before the log's verdict: after a crash in between the
	// seat is free again within it. Default 5 s; 100 ms – 1 min.
	LockFor time.Duration
	// DoubtFor is how long a command waits for this replica's map to agree with a lock that refuses it,
	// before it asks the log. Default 50 ms; 1 ms – 1 s.
	DoubtFor time.Duration
	// InFlightWait is how long a call waits for an identical one that is under way in this process,
	// before it gets ErrRequestInFlight. Default 2 s; 1 ms – 1 min.
	InFlightWait time.Duration
	// MaxSeatsPerAddress is the most seats that the open holds of one address may have, over all
	// showings. Default 0: no limit, and addresses aren't kept.
	MaxSeatsPerAddress int
	// Notify is called after each append with the showing's new seq, to wake whoever follows the log.
	// It is a hint: it must not block, and may be lost. Default: nobody is woken.
	Notify func(showing uuid.UUID, seq int64)
	// Appended is called after each append with its events, so that this replica's own map has them before
	// they come back. It must not block. Default: nobody hears of them.
	Appended func(ctx context.Context, events []eventstore.Event)
	// Metrics hears of what happens. Default: nobody does.
	Metrics Metrics
	// Logger takes what an operator should know. Default: slog.Default.
	Logger *slog.Logger
}

// Metrics is told what a Service does; any of its functions may be nil. They must not block.
type Metrics struct {
	// Command is called once for each command, by its name ("hold", "add", "give-back", "confirm",
	// "release", "expire"), with how long it took and how it ended.
	Command func(name string, took time.Duration, err error)
	// Lock is called once for each attempt to lock seats.
	Lock func(outcome LockOutcome)
	// Rejudged is called each time that a refused guard made a command be judged again.
	Rejudged func()
}

// LockOutcome is how an attempt to lock seats ended.
type LockOutcome string

// The outcomes of an attempt to lock seats.
const (
	// LockTaken: the command has the lock.
	LockTaken LockOutcome = "taken"
	// LockFinal: someone else has it, the map agrees, and the command is refused.
	LockFinal LockOutcome = "final"
	// LockDoubted: someone else has it, the map doesn't agree, and the log decides.
	LockDoubted LockOutcome = "doubted"
	// LockUnavailable: Redis is gone, and the log alone guards.
	LockUnavailable LockOutcome = "unavailable"
)

// WithDefaults is c with each zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.HoldFor == 0 {
		c.HoldFor = 10 * time.Minute
	}
	if c.MaxSeats == 0 {
		c.MaxSeats = 10
	}
	if c.LockFor == 0 {
		c.LockFor = 5 * time.Second
	}
	if c.DoubtFor == 0 {
		c.DoubtFor = 50 * time.Millisecond
	}
	if c.InFlightWait == 0 {
		c.InFlightWait = 2 * time.Second
	}
	if c.Notify == nil {
		c.Notify = func(uuid.UUID, int64) {}
	}
	if c.Appended == nil {
		c.Appended = func(context.Context, []eventstore.Event) {}
	}
	if c.Metrics.Command == nil {
		c.Metrics.Command = func(string, time.Duration, error) {}
	}
	if c.Metrics.Lock == nil {
		c.Metrics.Lock = func(LockOutcome) {}
	}
	if c.Metrics.Rejudged == nil {
		c.Metrics.Rejudged = func() {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says which fields can't be; it expects the defaults to be set.
func (c Config) Validate() error {
	return errors.Join(
		within("HoldFor", c.HoldFor, time.Millisecond, 24*time.Hour),
		within("MaxSeats", c.MaxSeats, 1, 1000),
		within("LockFor", c.LockFor, 100*time.Millisecond, time.Minute),
		within("DoubtFor", c.DoubtFor, time.Millisecond, time.Second),
		within("InFlightWait", c.InFlightWait, time.Millisecond, time.Minute),
		within("MaxSeatsPerAddress", c.MaxSeatsPerAddress, 0, 1_000_000),
	)
}

func within[T int | time.Duration](field string, value, lowest, highest T) error {
	if value >= lowest && value <= highest {
		return nil
	}
	return fmt.Errorf("booking: %s is %v, must be %v – %v", field, value, lowest, highest)
}
