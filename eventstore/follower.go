package eventstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Handler takes the events that a Follower delivers. Calls for one stream come one after the other;
// calls for different streams may come at the same time.
type Handler interface {
	// Handle takes the stream's next events, at least one, in order, each at least once: after a failure or a
	// restart some come again. An error makes the follower deliver the same events again after a pause.
	Handle(ctx context.Context, stream uuid.UUID, events []Event) error
	// Reset says that events come from seq 1, in the given log: whatever the handler knows of the stream
	// has to be forgotten. It comes before a stream's first events when there is no cursor, when the log
	// was restored, and when the cursor is not in this log. An error makes the follower call it again.
	Reset(ctx context.Context, stream uuid.UUID, log string) error
}

// FollowerConfig tells a Follower what to follow. The zero value of each field means its default.
type FollowerConfig struct {
	// Streams names the streams to follow, asked before each look at the heads. Default nil: all open
	// streams.
	Streams func() []uuid.UUID
	// Poll is how often the heads are looked at, whatever hints come. Default 1 s.
	Poll time.Duration
	// Batch is the most events in one call of Handle. Default 1000.
	Batch int
	// Workers is how many streams are read and handled at the same time. Default 4.
	Workers int
	// Save is how often positions go to Cursors. Default 1 s; the last ones go there when Run ends.
	Save time.Duration
	// RetryMin and RetryMax bound the pause before a failed delivery is tried again, which doubles each
	// time. Defaults 100 ms and 30 s.
	RetryMin, RetryMax time.Duration
	// Logger. Default the store's.
	Logger *slog.Logger
}

// WithDefaults returns the config with each zero field set to its default, Logger aside.
func (c FollowerConfig) WithDefaults() FollowerConfig {
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Batch == 0 {
		c.Batch = 1000
	}
	if c.Workers == 0 {
		c.Workers = 4
	}
	if c.Save == 0 {
		c.Save = time.Second
	}
	if c.RetryMin == 0 {
		c.RetryMin = 100 * time.Millisecond
	}
	if c.RetryMax == 0 {
		c.RetryMax = 30 * time.Second
	}
	return c
}

// Validate says what is wrong with the config, after WithDefaults.
func (c FollowerConfig) Validate() error {
	var errs []error
	if c.Poll < 0 || c.Save < 0 {
		errs = append(errs, errors.New("eventstore: follower spans must be positive"))
	}
	if c.Batch < 1 || c.Batch >= mostRead {
		errs = append(errs, errors.New("eventstore: follower Batch must be 1–9999"))
	}
	if c.Workers < 1 || c.Workers > 1024 {
		errs = append(errs, errors.New("eventstore: follower Workers must be 1–1024"))
	}
	if c.RetryMin < 0 || c.RetryMax < c.RetryMin {
		errs = append(errs, errors.New("eventstore: follower RetryMax must be at least RetryMin"))
	}
	return errors.Join(errs...)
}

// Follower delivers every event of the streams it follows to a Handler. See the package's description.
type Follower struct {
	store   *Store
	cfg     FollowerConfig
	cursors Cursors
	handler Handler
	hints   hints
}

// Follower makes a follower that begins where its cursors say.
func (s *Store) Follower(cfg FollowerConfig, cursors Cursors, handler Handler) *Follower {
	cfg = cfg.WithDefaults()
	if cfg.Logger == nil {
		cfg.Logger = s.cfg.Logger
	}
	return &Follower{
		store: s, cfg: cfg, cursors: cursors, handler: handler,
		hints: hints{seqs: map[uuid.UUID]int64{}, signal: make(chan struct{}, 1)},
	}
}

// Hint says that the stream has come to seq, so that the follower needn't wait for its next look at the
// heads. It never blocks, and a hint that is late, lost or wrong does no harm.
func (f *Follower) Hint(stream uuid.UUID, seq int64) { f.hints.add(stream, seq) }

// mostHints bounds the streams hinted at and not yet looked at; beyond it the next poll finds them.
const mostHints = 10_000

// hints are the latest hint a stream.
type hints struct {
	mu     sync.Mutex
	seqs   map[uuid.UUID]int64
	signal chan struct{}
}

func (h *hints) add(stream uuid.UUID, seq int64) {
	h.mu.Lock()
	if old, ok := h.seqs[stream]; ok || len(h.seqs) < mostHints {
		h.seqs[stream] = max(old, seq)
	}
	h.mu.Unlock()
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

func (h *hints) take() map[uuid.UUID]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.seqs
	h.seqs = make(map[uuid.UUID]int64)
	return taken
}
