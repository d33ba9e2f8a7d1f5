package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// fate is what became of a statement that failed.
type fate int

const (
	// fateUnsent: it never left; nothing was done.
	fateUnsent fate = iota
	// fateRefused: the server rolled it back because of what it said. Alone, or repeated, it may pass.
	fateRefused
	// fateBusy: the server rolled it back because of the server's own state: out of space or
	// connections, read only, too slow. Repeating it at once is no use.
	fateBusy
	// fateKilled: the server said that it ends the connection. Whether it was committed has to be looked up; what
	// is not found then was rolled back, and nobody is left who could still commit it.
	fateKilled
	// fateLost: the connection broke or took too long. It has to be looked up, and even when it isn't found
	// it may still come, from a network's or a server's queue.
	fateLost
)

// unsentError wraps a failure before anything was sent, such as that to get a connection in time.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

func fateOf(err error) fate {
	_, unsent := errors.AsType[*unsentError](err)
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	if unsent || unconnected || pgconn.SafeToRetry(err) {
		return fateUnsent
	}
	pgErr, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case !answered:
		return fateLost
	case severity(pgErr) != "ERROR": // FATAL or PANIC
		return fateKilled
	case isServerState(pgErr.Code):
		return fateBusy
	default:
		return fateRefused
	}
}

// severity is the untranslated word, which servers since 9.6 send beside the translated one.
func severity(e *pgconn.PgError) string {
	if e.SeverityUnlocalized != "" {
		return e.SeverityUnlocalized
	}
	return e.Severity
}

// isServerState says whether an SQLSTATE tells of the server and not of the statement: connection (08),
// resources such as a full disk (53), operator intervention and time-outs (57), I/O (58), lock
// time-out, read only.
func isServerState(code string) bool {
	switch code {
	case "55P03", "25006":
		return true
	}
	for _, class := range [...]string{"08", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// isRequestFault says whether an SQLSTATE blames what was sent: data (22), a constraint (23), cardinality
// (21), a limit of the program (54).
func isRequestFault(code string) bool {
	for _, class := range [...]string{"21", "22", "23", "54"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// nothingDone is the caller's error for a write that certainly had no effect.
func nothingDone(f fate, err error) error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && f == fateRefused && isRequestFault(pgErr.Code) {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// writeError is the caller's error for a failed write that is safe to repeat and has no command to look up.
func writeError(what string, err error) error {
	switch f := fateOf(err); f {
	case fateUnsent, fateRefused, fateBusy:
		return fmt.Errorf("eventstore: %s: %w", what, nothingDone(f, err))
	case fateKilled, fateLost:
	}
	return fmt.Errorf("eventstore: %s: %w: %w", what, ErrOutcomeUnknown, err)
}

// readError is the caller's error for a failed read: its context's own, ErrUnavailable, or what the server has
// against the query.
func readError(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("eventstore: %s: %w", what, ctx.Err())
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && fateOf(err) == fateRefused {
		return fmt.Errorf("eventstore: %s: %w", what, pgErr)
	}
	return fmt.Errorf("eventstore: %s: %w: %w", what, ErrUnavailable, err)
}
