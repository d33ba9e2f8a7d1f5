package lock

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"
)

// bookkeeping is the hash field that holds the showing's last token and the hash's own end. No seat
// has that code.
const bookkeeping = "#"

const maxSeatBytes = 64

// Key is the Redis key of a showing's locks: "<prefix>{<showing>}:locks". Whatever else is kept under
// "<prefix>{<showing>}:…" shares its cluster slot, so one script may touch both.
func (l *Locker) Key(showing uuid.UUID) string {
	return Key(l.cfg.Prefix, showing)
}

// Key is Locker.Key for a prefix.
func Key(prefix string, showing uuid.UUID) string {
	return prefix + "{" + showing.String() + "}:locks"
}

// digest makes a request id short and free of the separators that a field's value uses: 22 characters.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func checkSeats(showing, owner uuid.UUID, seats []string) error {
	if showing == uuid.Nil || owner == uuid.Nil {
		return fmt.Errorf("%w: a showing and an owner are needed", ErrInvalidRequest)
	}
	if len(seats) < 1 || len(seats) > MaxSeats {
		return fmt.Errorf("%w: %d seats", ErrInvalidRequest, len(seats))
	}
	seen := make(map[string]struct{}, len(seats))
	for _, seat := range seats {
		if seat == "" || len(seat) > maxSeatBytes || seat == bookkeeping {
			return fmt.Errorf("%w: seat %.64q", ErrInvalidRequest, seat)
		}
		if seat == WholeShowing && len(seats) > 1 {
			return fmt.Errorf("%w: the whole showing and seats of it", ErrInvalidRequest)
		}
		if _, twice := seen[seat]; twice {
			return fmt.Errorf("%w: seat %q twice", ErrInvalidRequest, seat)
		}
		seen[seat] = struct{}{}
	}
	return nil
}

func (r Request) check() error {
	if err := checkSeats(r.Showing, r.Owner, r.Seats); err != nil {
		return err
	}
	if ms := r.TTL.Milliseconds(); ms < 1 || r.TTL > MaxTTL {
		return fmt.Errorf("%w: a TTL of %v", ErrInvalidRequest, r.TTL)
	}
	return nil
}

func (r Request) checkTaking() error {
	if r.ID == "" {
		return fmt.Errorf("%w: no id", ErrInvalidRequest)
	}
	return r.check()
}
