package rivals

import (
	"context"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// procedure has the whole step in the server: one round trip, one commit.
type procedure struct{ *store }

func newProcedure(ctx context.Context, url string, _ redis.UniversalClient) (Booker, error) {
	s, err := open(ctx, url, "procedures")
	if err != nil {
		return nil, err
	}
	return &procedure{s}, nil
}

// Hold is Booker's.
func (p *procedure) Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	id := uuid.New()
	var done bool
	if err := p.pool.QueryRow(ctx, "SELECT hold_seats($1, $2, $3, $4, $5)", showing, seats, session, id, HoldFor).Scan(&done); err != nil {
		return id, err
	}
	if !done {
		return id, ErrTaken
	}
	return id, nil
}

// Confirm is Booker's.
func (p *procedure) Confirm(ctx context.Context, session, booking uuid.UUID) error {
	var done bool
	if err := p.pool.QueryRow(ctx, "SELECT confirm_hold($1, $2)", booking, session).Scan(&done); err != nil {
		return err
	}
	if !done {
		return ErrNotHeld
	}
	return nil
}
