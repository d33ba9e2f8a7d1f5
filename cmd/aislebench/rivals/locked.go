package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"
)

// lockTTL is how long a lock outlives its owner's death.
const lockTTL = 5 * time.Second

// locked keeps losers away from the database by a lock in Redis for each seat, taken in order, for as long as the
// transaction lasts. The transaction still looks whether the seats are free: the locks may have ended. To confirm it
// needs no lock, as the seats belong to the booking.
type locked struct {
	*store
	// acquire locks all the seats, or none: ErrTaken. release is called when the transaction is over.
	acquire                 func(ctx context.Context, names []string) (release func(), err error)
	takeFree, insertBooking string
	sale
}

func newLocked(ctx context.Context, url string, acquire func(context.Context, []string) (func(), error)) (Booker, error) {
	s, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &locked{store: s, acquire: acquire, takeFree: query("take_free"), insertBooking: query("insert_booking"), sale: newSale()}, nil
}

func newRedsync(ctx context.Context, url string, client redis.UniversalClient) (Booker, error) {
	rs := redsync.New(redsyncredis.NewPool(client))
	return newLocked(ctx, url, func(ctx context.Context, names []string) (func(), error) {
		held := make([]*redsync.Mutex, 0, len(names))
		release := func() {
			for _, m := range held {
				_, _ = m.UnlockContext(ctx) // it ends by itself otherwise
			}
		}
		for _, name := range names {
			m := rs.NewMutex(name, redsync.WithExpiry(lockTTL), redsync.WithTries(1))
			if err := m.TryLockContext(ctx); err != nil {
				release()
				if _, taken := errors.AsType[*redsync.ErrTaken](err); taken || errors.Is(err, redsync.ErrFailed) {
					return nil, ErrTaken
				}
				return nil, err
			}
			held = append(held, m)
		}
		return release, nil
	})
}

func newRedislock(ctx context.Context, url string, client redis.UniversalClient) (Booker, error) {
	locker := redislock.New(client)
	return newLocked(ctx, url, func(ctx context.Context, names []string) (func(), error) {
		held := make([]*redislock.Lock, 0, len(names))
		release := func() {
			for _, l := range held {
				_ = l.Release(ctx) // it ends by itself otherwise
			}
		}
		for _, name := range names {
			l, err := locker.Obtain(ctx, name, lockTTL, nil)
			if err != nil {
				release()
				if errors.Is(err, redislock.ErrNotObtained) {
					return nil, ErrTaken
				}
				return nil, err
			}
			held = append(held, l)
		}
		return release, nil
	})
}

// Hold is Booker's.
func (l *locked) Hold(ctx context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	id := uuid.New()
	names := make([]string, len(seats))
	for i, seat := range seats {
		names[i] = "seat:" + showing.String() + ":" + seat
	}
	release, err := l.acquire(ctx, names)
	if err != nil {
		return id, err
	}
	defer release()
	return id, l.inTx(ctx, func(conn *pgx.Conn) error {
		var take pgx.Batch
		taken := int64(0)
		take.Queue("begin")
		take.Queue(l.takeFree, showing, seats, id, HoldFor).Exec(func(tag pgconn.CommandTag) error {
			taken = tag.RowsAffected()
			return nil
		})
		if err := conn.SendBatch(ctx, &take).Close(); err != nil {
			return err
		}
		if taken < int64(len(seats)) {
			return ErrTaken
		}
		return insertAndCommit(ctx, conn, l.insertBooking, id, showing, session, seats)
	})
}

// Confirm is Booker's.
func (l *locked) Confirm(ctx context.Context, session, booking uuid.UUID) error {
	return l.confirm(ctx, l.store, session, booking)
}
