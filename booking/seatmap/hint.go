package seatmap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// EncodeHint is a hint's text on HintChannel: the showing has events up to seq.
func EncodeHint(showing uuid.UUID, seq int64) string {
	return showing.String() + " " + strconv.FormatInt(seq, 10)
}

// DecodeHint is the inverse of EncodeHint.
func DecodeHint(text string) (showing uuid.UUID, seq int64, err error) {
	id, number, ok := strings.Cut(text, " ")
	if !ok {
		return uuid.Nil, 0, errors.New("hint: no seq")
	}
	if showing, err = uuid.Parse(id); err != nil {
		return uuid.Nil, 0, fmt.Errorf("hint: %w", err)
	}
	if seq, err = strconv.ParseInt(number, 10, 64); err != nil || seq < 1 {
		return uuid.Nil, 0, fmt.Errorf("hint: seq %q", number)
	}
	return showing, seq, nil
}

// HinterConfig are a Hinter's settings.
type HinterConfig struct {
	// Prefix stands before the channel's name. Default DefaultPrefix.
	Prefix string
	// Queue is how many showings may wait for their hint to be published; hints of further ones are
	// dropped. Default 1024.
	Queue int
	// Timeout of one publication. Default 250 ms.
	Timeout time.Duration
	// Logger. Default slog.Default().
	Logger *slog.Logger
}

// WithDefaults fills in what is zero.
func (c HinterConfig) WithDefaults() HinterConfig {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Queue == 0 {
		c.Queue = 1024
	}
	if c.Timeout == 0 {
		c.Timeout = 250 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate says what is wrong with the settings.
func (c HinterConfig) Validate() error {
	if c.Queue < 1 || c.Timeout <= 0 {
		return errors.New("seatmap: hinter's queue and timeout must be positive")
	}
	return nil
}

// Hinter tells all replicas, through Redis, that a showing has new events. A hint only makes things
// faster: whoever misses one finds the events by comparing heads. So it never delays a command, and
// what can't be sent is dropped.
type Hinter struct {
	cfg    HinterConfig
	client redis.UniversalClient
	wake   chan struct{}

	mu      sync.Mutex
	waiting map[uuid.UUID]int64
}

// NewHinter makes a Hinter; it publishes while its Run runs.
func NewHinter(cfg HinterConfig, client redis.UniversalClient) (*Hinter, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Hinter{cfg: cfg, client: client, wake: make(chan struct{}, 1), waiting: map[uuid.UUID]int64{}}, nil
}

// Notify hints that the showing has events up to seq. It never blocks; it fits booking.Config.Notify.
func (h *Hinter) Notify(showing uuid.UUID, seq int64) {
	h.mu.Lock()
	before, waits := h.waiting[showing]
	if waits || len(h.waiting) < h.cfg.Queue {
		h.waiting[showing] = max(before, seq)
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Run publishes until ctx ends, then returns nil.
func (h *Hinter) Run(ctx context.Context) error {
	outage := outage{logger: h.cfg.Logger, what: "hints can't be published"}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		outage.report(ctx, h.publish(ctx))
	}
}

func (h *Hinter) publish(ctx context.Context) error {
	h.mu.Lock()
	batch := h.waiting
	h.waiting = make(map[uuid.UUID]int64, len(batch))
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	_, err := h.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for showing, seq := range batch {
			p.Publish(ctx, HintChannel(h.cfg.Prefix), EncodeHint(showing, seq))
		}
		return nil
	})
	return err
}
