package rivals

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"
)

// version is optimistic: it reads the seats without a lock, and changes those that still have the version that it
// read. Three round trips for a hold, one for a refusal that the first look shows.
type version struct {
	*store
	readVersions, takeVersion, insertBooking string
	sale
}

func newVersion(ctx context.Context, url string, _ redis.UniversalClient) (Booker, error) {
	s, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &version{
		store: s, readVersions: query("read_versions"), takeVersion: query("take_version"), insertBooking: query("insert_booking"), sale: newSale(),
	}, nil
}

// Hold is Booker's.
func (v *version) Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	id := uuid.New()
	err := v.inTx(ctx, func(conn *pgx.Conn) error {
		versions, err := v.look(ctx, conn, showing, seats)
		if err != nil {
			return err
		}
		var take pgx.Batch
		taken := int64(0)
		take.Queue("begin")
		take.Queue(v.takeVersion, showing, seats, versions, id, HoldFor).Exec(func(tag pgconn.CommandTag) error {
			taken = tag.RowsAffected()
			return nil
		})
		if err := conn.SendBatch(ctx, &take).Close(); err != nil {
			return err
		}
		if taken < int64(len(seats)) {
			return ErrTaken
		}
		return insertAndCommit(ctx, conn, v.insertBooking, id, showing, session, seats)
	})
	if conflict(err) {
		return id, ErrTaken
	}
	return id, err
}

// look reads the seats' versions, in the order of the seats: ErrTaken when one isn't free.
func (v *version) look(ctx context.Context, conn *pgx.Conn, showing uuid.UUID, seats []string) ([]int32, error) {
	rows, err := conn.Query(ctx, v.readVersions, showing, seats)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]int32, len(seats))
	var (
		seat   string
		number int32
		free   bool
	)
	_, err = pgx.ForEachRow(rows, []any{&seat, &number, &free}, func() error {
		if free {
			byName[seat] = number
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	versions := make([]int32, len(seats))
	for i, name := range seats {
		number, ok := byName[name]
		if !ok {
			return nil, ErrTaken
		}
		versions[i] = number
	}
	return versions, nil
}

// Confirm is Booker's.
func (v *version) Confirm(ctx context.Context, session, booking uuid.UUID) error {
	return v.confirm(ctx, v.store, session, booking)
}

// insertAndCommit ends a hold's transaction in one round trip.
func insertAndCommit(ctx context.Context, conn *pgx.Conn, insert string, id, showing, session uuid.UUID, seats []string) error {
	var end pgx.Batch
	end.Queue(insert, id, showing, session, seats, HoldFor)
	end.Queue("commit")
	return conn.SendBatch(ctx, &end).Close()
}
