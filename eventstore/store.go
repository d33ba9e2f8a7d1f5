package eventstore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// Store is the log: it appends in groups, reads and looks up. Its methods may be called from many
// goroutines at once.
type Store struct {
	pool  *pgxpool.Pool
	cfg   Config
	log   atomic.Pointer[string]
	lanes []*lane

	// intake guards closed, and with it the lanes' queues against a send after their close.
	intake sync.RWMutex
	closed bool
	ran    atomic.Bool
}

// Open makes a Store on a pool from NewPool. It checks that the database has at least this program's
// schema and reads the log's id.
// Errors: ErrSchema, ErrUnavailable, an error of Config.Validate.
func Open(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Store, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Store{pool: pool, cfg: cfg}
	for i := range cfg.Lanes {
		s.lanes = append(s.lanes, newLane(s, i, cfg.Queue/cfg.Lanes))
	}
	if err := s.checkSchema(ctx); err != nil {
		return nil, err
	}
	if _, err := s.Heads(ctx, []uuid.UUID{}); err != nil {
		return nil, err
	}
	s.warnIfNotDurable(ctx)
	return s, nil
}

// Run flushes appends until ctx ends; then it takes no more, flushes what is queued, for at most
// AppendTimeout, and returns nil. It can be run once.
func (s *Store) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return fmt.Errorf("%w: Run was called before", ErrInvalid)
	}
	// A flush outlives ctx: its callers want their answers.
	flushing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var group errgroup.Group
	for _, l := range s.lanes {
		group.Go(func() error {
			l.run(flushing)
			return nil
		})
	}
	<-ctx.Done()
	s.closeIntake()
	defer time.AfterFunc(s.cfg.AppendTimeout, stop).Stop()
	return group.Wait()
}

func (s *Store) closeIntake() {
	s.intake.Lock()
	defer s.intake.Unlock()
	s.closed = true
	for _, l := range s.lanes {
		close(l.queue)
	}
}

// LogID is the id of this history of the log, as the latest Heads (or Open) found it.
func (s *Store) LogID() string { return *s.log.Load() }

// Ping says whether the database answers. Error: ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return readError(ctx, "ping", err)
	}
	return nil
}

// warnIfNotDurable speaks up where the server may forget what it acknowledged.
func (s *Store) warnIfNotDurable(ctx context.Context) {
	var fsync, commit string
	err := s.pool.QueryRow(ctx, durabilitySQL).Scan(&fsync, &commit)
	if err != nil || (fsync == "on" && commit != "off") {
		return
	}
	s.cfg.Logger.WarnContext(ctx, "the database may lose acknowledged sales in a crash",
		slog.String("fsync", fsync), slog.String("synchronous_commit", commit))
}
