package scenario

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

// heads are where the log's streams end.
func (r *Run) heads(ctx context.Context) (map[uuid.UUID]int64, error) {
	conn, err := pgx.Connect(ctx, r.Fleet.Postgres())
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // only read from
	return readHeads(ctx, conn)
}

func readHeads(ctx context.Context, conn *pgx.Conn) (map[uuid.UUID]int64, error) {
	rows, err := conn.Query(ctx, "SELECT id, head FROM streams")
	if err != nil {
		return nil, err
	}
	heads := map[uuid.UUID]int64{}
	var id uuid.UUID
	var head int64
	_, err = pgx.ForEachRow(rows, []any{&id, &head}, func() error {
		heads[id] = head
		return nil
	})
	return heads, err
}

// HotShowing is the one with the most events.
func (r *Run) HotShowing(ctx context.Context) (hot uuid.UUID, err error) {
	heads, err := r.heads(ctx)
	if err != nil {
		return uuid.Nil, err
	}
	for id, head := range heads {
		if head > heads[hot] || hot == uuid.Nil {
			hot = id
		}
	}
	return hot, nil
}

// snapshotKey is the key of a showing's snapshot in Redis.
func snapshotKey(showing uuid.UUID) string {
	return fmt.Sprintf("%s:{%s}:snapshot", namespace, showing)
}

// FreeSeats finds n seats that nobody has, at the showing with the fewest events.
func (r *Run) FreeSeats(ctx context.Context, api *client.API, url string, n int) (uuid.UUID, []string, error) {
	heads, err := r.heads(ctx)
	if err != nil {
		return uuid.Nil, nil, err
	}
	quiet := uuid.Nil
	for id, head := range heads {
		if quiet == uuid.Nil || head < heads[quiet] || (head == heads[quiet] && id.String() < quiet.String()) {
			quiet = id
		}
	}
	shown, err := api.Seats(ctx, url, quiet, "")
	if err != nil {
		return uuid.Nil, nil, err
	}
	var free []string
	for seat, status := range shown.Seats {
		if status == "available" && len(free) < n {
			free = append(free, seat)
		}
	}
	if len(free) < n {
		return uuid.Nil, nil, fmt.Errorf("showing %s has no %d free seats", quiet, n)
	}
	return quiet, free, nil
}
