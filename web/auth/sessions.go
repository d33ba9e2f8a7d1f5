package auth

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Sentinels of this package. The methods of Sessions wrap them.
var (
	// ErrUnknown: no session has this token, or it ended or expired.
	ErrUnknown = errors.New("auth: unknown session")
	// ErrUnavailable: PostgreSQL can't be asked, and this replica doesn't remember.
	ErrUnavailable = errors.New("auth: sessions are unavailable")
)

var (
	//go:embed sql/start.sql
	startSQL string
	//go:embed sql/lookup.sql
	lookupSQL string
	//go:embed sql/touch.sql
	touchSQL string
	//go:embed sql/end.sql
	endSQL string
	//go:embed sql/was_ended.sql
	wasEndedSQL string
	//go:embed sql/ended_among.sql
	endedAmongSQL string
	//go:embed sql/purge.sql
	purgeSQL string
	//go:embed sql/site_key.sql
	siteKeySQL string
)

// touchShare is the part of IdleFor after which a session's use is noted again: one write in many uses.
const touchShare = 100

// Session is one that is neither ended nor expired, as far as this replica knows.
type Session struct {
	ID uuid.UUID
}

// Sessions are the site's sessions as one replica sees them. It is safe for concurrent use.
type Sessions struct {
	pool   *pgxpool.Pool
	cfg    Config
	memory *memory
}

// NewSessions returns the sessions kept in pool's database. It asks nothing yet.
func NewSessions(pool *pgxpool.Pool, cfg Config) (*Sessions, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	memory, err := newMemory(cfg)
	if err != nil {
		return nil, err
	}
	return &Sessions{pool: pool, cfg: cfg, memory: memory}, nil
}

// IdleFor is how long a session lives unused.
func (s *Sessions) IdleFor() time.Duration { return s.cfg.IdleFor }

// Start starts a session and returns it with its token, which nobody can be told again.
// Errors: ErrUnavailable, or the context's.
func (s *Sessions) Start(ctx context.Context) (Session, string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Session{}, "", fmt.Errorf("auth: start: %w", err)
	}
	token := newToken()
	h, _ := hashOf(token)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	if _, err := s.pool.Exec(ctx, startSQL, id, h[:], s.cfg.IdleFor); err != nil {
		return Session{}, "", unavailable("start", err)
	}
	session := Session{ID: id}
	s.memory.know(h, session)
	return session, token, nil
}

// Lookup finds the session of a token, in memory if PostgreSQL was asked lately.
// Errors: ErrUnknown; ErrUnavailable; the context's.
func (s *Sessions) Lookup(ctx context.Context, token string) (Session, error) {
	h, ok := hashOf(token)
	if !ok {
		return Session{}, ErrUnknown
	}
	if session, ok, err := s.memory.fresh(h); ok {
		return session, err
	}
	session, err := s.memory.once(ctx, h, func(ctx context.Context) (Session, error) {
		return s.ask(ctx, h)
	})
	if errors.Is(err, ErrUnavailable) {
		if session, ok := s.memory.stale(h); ok {
			return session, nil
		}
	}
	return session, err
}

// Known says whether Lookup would answer for the token from memory: a flood of made-up ones never is.
func (s *Sessions) Known(token string) bool {
	h, ok := hashOf(token)
	if !ok {
		return true
	}
	if _, ok, _ := s.memory.fresh(h); ok {
		return true
	}
	_, ok = s.memory.stale(h)
	return ok
}

// query is one look into the table. due says that the session's last use has to be written down again.
func (s *Sessions) query(ctx context.Context, h hash) (session Session, due bool, err error) {
	err = s.pool.QueryRow(ctx, lookupSQL, h[:], s.cfg.IdleFor/touchShare).Scan(&session.ID, &due)
	return session, due, err
}

// lineBroke says that asking once more, over another connection, may help: a line that breaks says nothing of
// PostgreSQL, which is left alone for a while only when it can't be reached.
func lineBroke(ctx context.Context, err error) bool {
	if err == nil || errors.Is(err, pgx.ErrNoRows) || ctx.Err() != nil {
		return false
	}
	_, unreachable := errors.AsType[*pgconn.ConnectError](err)
	return !unreachable
}

// ask asks PostgreSQL about a token and remembers the answer.
func (s *Sessions) ask(ctx context.Context, h hash) (Session, error) {
	session, due, err := s.query(ctx, h)
	if lineBroke(ctx, err) {
		session, due, err = s.query(ctx, h)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		s.memory.dontKnow(h)
		return Session{}, ErrUnknown
	}
	if err != nil {
		s.memory.failed()
		return Session{}, unavailable("look up", err)
	}
	s.memory.know(h, session)
	if due {
		s.touch(ctx, session)
	}
	return session, nil
}

// touch notes that a session was used. When that fails the next use notes it.
func (s *Sessions) touch(ctx context.Context, session Session) {
	if _, err := s.pool.Exec(ctx, touchSQL, session.ID, s.cfg.IdleFor); err != nil {
		s.cfg.Logger.WarnContext(ctx, "the use of a session could not be noted", slog.Any("error", err))
	}
}

// End ends the session of a token; key is the Idempotency-Key of the request, and with the same key it may
// be ended again. On this replica the session is over at once, on others within CacheFor.
// Errors: ErrUnknown; ErrUnavailable; the context's.
func (s *Sessions) End(ctx context.Context, token, key string) (Session, error) {
	h, ok := hashOf(token)
	if !ok {
		return Session{}, ErrUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	var session Session
	err := s.pool.QueryRow(ctx, endSQL, h[:], key).Scan(&session.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.pool.QueryRow(ctx, wasEndedSQL, h[:], key).Scan(&session.ID)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		s.memory.dontKnow(h)
		return Session{}, ErrUnknown
	}
	if err != nil {
		return Session{}, unavailable("end", err)
	}
	s.memory.dontKnow(h)
	return session, nil
}

// AddressKey is the secret, the same on all replicas, with which clients' network addresses are hashed.
func (s *Sessions) AddressKey(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	var key []byte
	if err := s.pool.QueryRow(ctx, siteKeySQL, "address").Scan(&key); err != nil {
		return nil, unavailable("read the address key", err)
	}
	return key, nil
}

// unavailable tells a lost database from a caller who went away.
func unavailable(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("auth: %s: %w", what, err)
	}
	return fmt.Errorf("auth: %s: %w: %w", what, ErrUnavailable, err)
}
