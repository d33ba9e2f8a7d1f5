package auth

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

// leaveAlone is how long PostgreSQL is left alone after it failed to answer.
const leaveAlone = time.Second

// memory is what one replica remembers of PostgreSQL's answers. Known and unknown tokens live apart, so
// that a flood of unknown ones pushes nobody out.
type memory struct {
	cfg     Config
	known   *otter.Cache[hash, answer]
	unknown *otter.Cache[hash, time.Time]
	flights singleflight.Group
	turns   *semaphore.Weighted
	// down is until when (Unix nanoseconds) PostgreSQL is left alone.
	down atomic.Int64
}

// answer is a known session and when PostgreSQL said so.
type answer struct {
	session Session
	at      time.Time
}

func newMemory(cfg Config) (*memory, error) {
	known, err := otter.New(&otter.Options[hash, answer]{MaximumSize: cfg.MaxCached})
	if err != nil {
		return nil, fmt.Errorf("auth: cache: %w", err)
	}
	unknown, err := otter.New(&otter.Options[hash, time.Time]{MaximumSize: cfg.MaxUnknown})
	if err != nil {
		return nil, fmt.Errorf("auth: cache: %w", err)
	}
	return &memory{
		cfg: cfg, known: known, unknown: unknown,
		turns: semaphore.NewWeighted(int64(cfg.MaxLookups)),
	}, nil
}

// fresh is the answer that is still believed, ok when there is one: a session, or ErrUnknown.
func (m *memory) fresh(h hash) (session Session, ok bool, err error) {
	now := m.cfg.Now()
	if at, ok := m.unknown.GetIfPresent(h); ok && now.Sub(at) < m.cfg.CacheFor {
		return Session{}, true, ErrUnknown
	}
	if a, ok := m.known.GetIfPresent(h); ok && now.Sub(a.at) < m.cfg.CacheFor {
		return a.session, true, nil
	}
	return Session{}, false, nil
}

// stale is the session as it was known, for when PostgreSQL is gone.
func (m *memory) stale(h hash) (Session, bool) {
	a, ok := m.known.GetIfPresent(h)
	return a.session, ok && m.cfg.Now().Sub(a.at) < m.cfg.StaleFor
}

func (m *memory) know(h hash, session Session) {
	m.unknown.Invalidate(h)
	m.known.Set(h, answer{session: session, at: m.cfg.Now()})
}

func (m *memory) dontKnow(h hash) {
	m.known.Invalidate(h)
	m.unknown.Set(h, m.cfg.Now())
}

// failed notes that PostgreSQL did not answer.
func (m *memory) failed() {
	m.down.Store(m.cfg.Now().Add(leaveAlone).UnixNano())
}

// once runs ask for a token one time however many wait for it, a limited number of them at once, and
// not while PostgreSQL is known to be away. The asking outlives a waiter who leaves.
func (m *memory) once(ctx context.Context, h hash, ask func(context.Context) (Session, error)) (Session, error) {
	if m.cfg.Now().UnixNano() < m.down.Load() {
		return Session{}, fmt.Errorf("%w: it did not answer a moment ago", ErrUnavailable)
	}
	asked := m.flights.DoChan(string(h[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.QueryTimeout)
		defer cancel()
		if err := m.turns.Acquire(ctx, 1); err != nil {
			return Session{}, fmt.Errorf("%w: too many look-ups at once", ErrUnavailable)
		}
		defer m.turns.Release(1)
		if session, ok, err := m.fresh(h); ok { // another flight landed between the caller's look and this one
			return session, err
		}
		return ask(ctx)
	})
	select {
	case <-ctx.Done():
		return Session{}, fmt.Errorf("auth: look up: %w", context.Cause(ctx))
	case result := <-asked:
		session, _ := result.Val.(Session)
		return session, result.Err
	}
}
