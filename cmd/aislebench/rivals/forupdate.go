package rivals

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// forUpdate locks the seats' rows, looks at them and changes them: two round trips a step.
type forUpdate struct {
	*store
	lockSeats, takeLocked, insertBooking string
	sale
}

func newForUpdate(ctx context.Context, url string, _ redis.UniversalClient) (Booker, error) {
	s, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &forUpdate{
		store: s, lockSeats: query("lock_seats"), takeLocked: query("take_locked"), insertBooking: query("insert_booking"), sale: newSale(),
	}, nil
}

// Hold is Booker's.
func (f *forUpdate) Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	id := uuid.New()
	return id, f.inTx(ctx, func(conn *pgx.Conn) error {
		var look pgx.Batch
		look.Queue("begin")
		free := 0
		look.Queue(f.lockSeats, showing, seats).Query(func(rows pgx.Rows) error {
			var ok bool
			_, err := pgx.ForEachRow(rows, []any{&ok}, func() error {
				if ok {
					free++
				}
				return nil
			})
			return err
		})
		if err := conn.SendBatch(ctx, &look).Close(); err != nil {
			return err
		}
		if free < len(seats) {
			return ErrTaken
		}
		var take pgx.Batch
		take.Queue(f.takeLocked, showing, seats, id, HoldFor)
		take.Queue(f.insertBooking, id, showing, session, seats, HoldFor)
		take.Queue("commit")
		return conn.SendBatch(ctx, &take).Close()
	})
}

// Confirm is Booker's.
func (f *forUpdate) Confirm(ctx context.Context, session, booking uuid.UUID) error {
	return f.confirm(ctx, f.store, session, booking)
}

// sale is how all designs but plpgsql confirm: the booking's row is locked, looked at, and changed with its seats, in
// two round trips. Nobody else can touch the seats meanwhile, as they belong to the booking.
type sale struct {
	lockBooking, confirmBooking, sellSeats string
}

func newSale() sale {
	return sale{lockBooking: query("lock_booking"), confirmBooking: query("confirm_booking"), sellSeats: query("sell_seats")}
}

func (s sale) confirm(ctx context.Context, in *store, session, booking uuid.UUID) error {
	return in.inTx(ctx, func(conn *pgx.Conn) error {
		var (
			look    pgx.Batch
			showing uuid.UUID
			seats   []string
			held    bool
		)
		look.Queue("begin")
		look.Queue(s.lockBooking, booking, session).QueryRow(func(row pgx.Row) error { return row.Scan(&showing, &seats, &held) })
		err := conn.SendBatch(ctx, &look).Close()
		if errors.Is(err, pgx.ErrNoRows) || (err == nil && !held) {
			return ErrNotHeld
		}
		if err != nil {
			return err
		}
		var sell pgx.Batch
		sell.Queue(s.confirmBooking, booking)
		sell.Queue(s.sellSeats, showing, seats, booking)
		sell.Queue("commit")
		return conn.SendBatch(ctx, &sell).Close()
	})
}
