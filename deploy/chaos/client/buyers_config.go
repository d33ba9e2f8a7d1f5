package client

import (
	"errors"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// BuyersConfig says how buyers behave.
type BuyersConfig struct {
	// Replicas returns the public URLs of the replicas; it is asked before each attempt. Required.
	Replicas func() []string

	// Seed decides what every buyer wants: the same seed makes the same wishes, as far as the answers are the same. Default 0.
	Seed uint64

	// Think is the mean pause between two commands of one buyer. Default 50 ms.
	Think time.Duration

	// Confirms is how many of a hundred holds are bought in the end, 1 to 100. Of the others some are released and some
	// run out. Default 60.
	Confirms int

	// Attempt is how long one attempt waits for its answer. Default 2 s.
	Attempt time.Duration

	// Patience is how long a command is tried again. Default 20 s.
	Patience time.Duration

	// MaxRetryAfter caps what a Retry-After makes a buyer wait. Default 1 s.
	MaxRetryAfter time.Duration

	// Sending is called right before each attempt, with the replica it goes to; from many goroutines. Default: not called.
	Sending func(kind history.Kind, url string)
}

// WithDefaults returns c with its zero fields set to their defaults.
func (c BuyersConfig) WithDefaults() BuyersConfig {
	setDefault(&c.Think, 50*time.Millisecond)
	setDefault(&c.Confirms, 60)
	setDefault(&c.Attempt, 2*time.Second)
	setDefault(&c.Patience, 20*time.Second)
	setDefault(&c.MaxRetryAfter, time.Second)
	if c.Sending == nil {
		c.Sending = func(history.Kind, string) {}
	}
	return c
}

// Validate says what is wrong with c.
func (c BuyersConfig) Validate() error {
	if c.Replicas == nil {
		return errors.New("buyers: no Replicas to buy from")
	}
	if c.Confirms < 1 || c.Confirms > 100 {
		return errors.New("buyers: Confirms must be between 1 and 100")
	}
	if min(c.Think, c.Attempt, c.Patience, c.MaxRetryAfter) <= 0 {
		return errors.New("buyers: Think, Attempt, Patience and MaxRetryAfter must be above 0")
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
