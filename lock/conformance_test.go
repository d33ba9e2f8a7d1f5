package lock_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/lock"
)

// conform is what the locks promise on every kind of Redis.
func conform(t *testing.T, r *rig) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *rig){
		"all seats or none, and who has them":                        allOrNone,
		"the same request twice counts once":                         repeatCountsOnce,
		"nested acquisitions end one by one":                         nested,
		"too many nested acquisitions are refused":                   tooManyNested,
		"a nested acquisition never shortens a lock":                 neverShortens,
		"release leaves what is another's and frees the rest":        releaseTheRest,
		"renew is all or none":                                       renewAllOrNone,
		"extend and release after expiry are not held":               afterExpiry,
		"an expired lock is free for others and ends by itself":      endsByItself,
		"replace takes from exactly the named owner":                 replaceExactly,
		"a locked showing refuses seat locks":                        wholeShowing,
		"several showings are locked in sorted order, all or none":   severalShowings,
		"tokens rise, also across an emptied showing":                tokensRise,
		"scripts that Redis forgot are sent again":                   scriptFlush,
		"opposite orders, five hundred times":                        oppositeOrders,
		"many showings at once never meet a cross-slot error":        manyShowings,
		"all keys of a showing share a slot":                         oneSlot,
		"what is unreadable in Redis is nobody's":                    unreadable,
		"nothing is left of a showing whose locks were all released": nothingLeft,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

func allOrNone(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	held, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1", "A2"))
	require.NoError(t, err)
	require.Positive(t, held.Token)

	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A2", "A3"))
	var taken *lock.TakenError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, map[string]uuid.UUID{"A2": ann}, taken.Holders)
	require.Equal(t, held.Token, taken.Token)
	require.Equal(t, map[string]uuid.UUID{"A1": ann, "A2": ann}, r.owners(t.Context(), t, showing))

	_, err = r.Acquire(t.Context(), want(showing, bob, "2", "A3"))
	require.NoError(t, err)
}

func repeatCountsOnce(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	first, err := r.Acquire(t.Context(), want(showing, ann, "key", "A1", "A2"))
	require.NoError(t, err)
	again, err := r.Acquire(t.Context(), want(showing, ann, "key", "A1", "A2"))
	require.NoError(t, err)
	require.Equal(t, first, again, "a repeat is the same acquisition, with its token")

	require.NoError(t, r.Release(t.Context(), showing, ann, "key", []string{"A1", "A2"}))
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1", "A2"))
	require.NoError(t, err, "one release ends what ran twice")
	require.ErrorIs(t, r.Release(t.Context(), showing, ann, "key", []string{"A1", "A2"}), lock.ErrNotHeld)
	require.Equal(t, map[string]uuid.UUID{"A1": bob, "A2": bob}, r.owners(t.Context(), t, showing))
}

func nested(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	one, err := r.Acquire(t.Context(), want(showing, ann, "one", "A1"))
	require.NoError(t, err)
	two, err := r.Acquire(t.Context(), want(showing, ann, "two", "A1", "A2"))
	require.NoError(t, err)
	require.Greater(t, two.Token, one.Token)
	again, err := r.Acquire(t.Context(), want(showing, ann, "one", "A1"))
	require.NoError(t, err)
	require.Equal(t, one, again)

	require.NoError(t, r.Release(t.Context(), showing, ann, "two", []string{"A1", "A2"}))
	require.Equal(t, map[string]uuid.UUID{"A1": ann}, r.owners(t.Context(), t, showing))
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	require.Error(t, err)

	_, err = r.Acquire(t.Context(), want(showing, ann, "three", "A1"))
	require.NoError(t, err)
	require.NoError(t, r.Release(t.Context(), showing, ann, "", []string{"A1"}), "no id ends all of the owner's")
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	require.NoError(t, err)
}

func tooManyNested(t *testing.T, r *rig) {
	t.Helper()
	showing, ann := uuid.New(), uuid.New()
	for i := range lock.MaxNested {
		_, err := r.Acquire(t.Context(), want(showing, ann, strconv.Itoa(i), "A1"))
		require.NoError(t, err)
	}
	_, err := r.Acquire(t.Context(), want(showing, ann, "one more", "A0", "A1"))
	require.ErrorIs(t, err, lock.ErrTooManyNested)
	require.Equal(t, map[string]uuid.UUID{"A1": ann}, r.owners(t.Context(), t, showing))
	_, err = r.Acquire(t.Context(), want(showing, ann, "0", "A1"))
	require.NoError(t, err, "a repeat is no further one")
}

func neverShortens(t *testing.T, r *rig) {
	t.Helper()
	showing, ann := uuid.New(), uuid.New()
	long := want(showing, ann, "long", "A1")
	long.TTL = time.Hour
	_, err := r.Acquire(t.Context(), long)
	require.NoError(t, err)
	short := want(showing, ann, "short", "A1")
	short.TTL = time.Millisecond
	_, err = r.Acquire(t.Context(), short)
	require.NoError(t, err)
	_, err = r.Renew(t.Context(), short)
	require.NoError(t, err)
	left, err := r.client.PTTL(t.Context(), r.Key(showing)).Result()
	require.NoError(t, err)
	require.Greater(t, left, 59*time.Minute)
	_, err = r.Renew(t.Context(), long)
	require.NoError(t, err, "the seat's own deadline was not shortened either")
}

func releaseTheRest(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1", "A2", "A3"))
	require.NoError(t, err)
	r.over(t.Context(), t, showing, "A2")
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A2"))
	require.NoError(t, err)

	err = r.Release(t.Context(), showing, ann, "1", []string{"A1", "A2", "A3", "A4"})
	require.ErrorIs(t, err, lock.ErrNotHeld)
	require.ErrorContains(t, err, `["A2" "A4"]`)
	require.Equal(t, map[string]uuid.UUID{"A2": bob}, r.owners(t.Context(), t, showing))
}

func renewAllOrNone(t *testing.T, r *rig) {
	t.Helper()
	showing, ann := uuid.New(), uuid.New()
	request := want(showing, ann, "1", "A1", "A2")
	request.TTL = 5 * time.Second
	_, err := r.Acquire(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, r.client.HDel(t.Context(), r.Key(showing), "A2").Err())

	request.TTL = time.Hour
	_, err = r.Renew(t.Context(), request)
	require.ErrorIs(t, err, lock.ErrNotHeld)
	require.ErrorContains(t, err, `["A2"]`)
	left, err := r.client.PTTL(t.Context(), r.Key(showing)).Result()
	require.NoError(t, err)
	require.LessOrEqual(t, left, 5*time.Second, "nothing was renewed")

	request.Seats = []string{"A1"}
	_, err = r.Renew(t.Context(), request)
	require.NoError(t, err)
	left, err = r.client.PTTL(t.Context(), r.Key(showing)).Result()
	require.NoError(t, err)
	require.Greater(t, left, 59*time.Minute)
}

// Two sessions extend and release after expiry: neither resurrects its lock nor frees what another now holds.
func afterExpiry(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob, eve := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "B1"))
	require.NoError(t, err)
	r.over(t.Context(), t, showing, "A1", "B1")
	_, err = r.Acquire(t.Context(), want(showing, eve, "1", "A1"))
	require.NoError(t, err)

	_, err = r.Renew(t.Context(), want(showing, ann, "1", "A1"))
	require.ErrorIs(t, err, lock.ErrNotHeld)
	_, err = r.Renew(t.Context(), want(showing, bob, "1", "B1"))
	require.ErrorIs(t, err, lock.ErrNotHeld)
	_, err = r.Acquire(t.Context(), want(showing, eve, "2", "B1"))
	require.NoError(t, err, "the renewal did not bring it back")
	require.ErrorIs(t, r.Release(t.Context(), showing, ann, "1", []string{"A1"}), lock.ErrNotHeld)
	require.ErrorIs(t, r.Release(t.Context(), showing, bob, "", []string{"B1"}), lock.ErrNotHeld)
	require.Equal(t, map[string]uuid.UUID{"A1": eve, "B1": eve}, r.owners(t.Context(), t, showing))
}

// A process dies between lock and append: nobody releases, and the seat is free within the TTL.
func endsByItself(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	request := want(showing, ann, "1", "A1")
	request.TTL = 150 * time.Millisecond
	start := time.Now()
	_, err := r.Acquire(t.Context(), request)
	require.NoError(t, err)
	rival := want(showing, bob, "1", "A1")
	rival.TTL = time.Millisecond
	require.Eventually(t, func() bool {
		_, err := r.Acquire(t.Context(), rival)
		return err == nil
	}, patience, 5*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(start), request.TTL-time.Millisecond)
	require.Eventually(t, func() bool {
		return r.client.Exists(t.Context(), r.Key(showing)).Val() == 0
	}, patience, 5*time.Millisecond, "the hash goes with its last lock")
}

func replaceExactly(t *testing.T, r *rig) {
	t.Helper()
	showing, old, ann, eve := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, old, "1", "A1"))
	require.NoError(t, err)
	_, err = r.Acquire(t.Context(), want(showing, eve, "1", "A2"))
	require.NoError(t, err)
	_, err = r.Acquire(t.Context(), want(showing, ann, "1", "A3"))
	require.NoError(t, err)

	wanted := want(showing, ann, "2", "A1", "A2", "A3", "A4")
	_, err = r.Replace(t.Context(), wanted, map[string]uuid.UUID{"A1": old, "A2": old})
	var taken *lock.TakenError
	require.ErrorAs(t, err, &taken, "A2 is no longer the one's it was read to be")
	require.Equal(t, map[string]uuid.UUID{"A2": eve}, taken.Holders)
	require.Equal(t, old, r.owners(t.Context(), t, showing)["A1"])

	present := map[string]uuid.UUID{"A1": old, "A2": eve}
	first, err := r.Replace(t.Context(), wanted, present)
	require.NoError(t, err)
	again, err := r.Replace(t.Context(), wanted, present)
	require.NoError(t, err, "run twice, it counts once")
	require.Equal(t, first, again)
	require.Equal(t, map[string]uuid.UUID{"A1": ann, "A2": ann, "A3": ann, "A4": ann}, r.owners(t.Context(), t, showing))
	_, err = r.Renew(t.Context(), want(showing, old, "1", "A1"))
	require.ErrorIs(t, err, lock.ErrNotHeld)
	require.ErrorIs(t, r.Release(t.Context(), showing, old, "1", []string{"A1"}), lock.ErrNotHeld)
}

func tokensRise(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	var last int64
	for i := range 50 {
		owner := []uuid.UUID{ann, bob}[i%2]
		held, err := r.Acquire(t.Context(), want(showing, owner, "1", "A1"))
		require.NoError(t, err)
		require.Greater(t, held.Token, last)
		last = held.Token
		held, err = r.Renew(t.Context(), want(showing, owner, "1", "A1"))
		require.NoError(t, err)
		require.Greater(t, held.Token, last)
		last = held.Token
		require.NoError(t, r.Release(t.Context(), showing, owner, "1", []string{"A1"}))
		if i == 25 {
			require.NoError(t, r.client.Del(t.Context(), r.Key(showing)).Err())
		}
	}
}

func scriptFlush(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	flush := func() { require.NoError(t, r.client.ScriptFlush(t.Context()).Err()) }
	flush()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)
	flush()
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A1"))
	var taken *lock.TakenError
	require.ErrorAs(t, err, &taken)
	flush()
	_, err = r.Renew(t.Context(), want(showing, ann, "1", "A1"))
	require.NoError(t, err)
	flush()
	require.NoError(t, r.Release(t.Context(), showing, ann, "1", []string{"A1"}))
}

// {A1,A2} against {A2,A1}, five hundred times in parallel: no deadlock, all or nothing each time.
func oppositeOrders(t *testing.T, r *rig) {
	t.Helper()
	showing := uuid.New()
	var racers sync.WaitGroup
	for i := range 500 {
		racers.Go(func() {
			seats := []string{"A1", "A2"}
			if i%2 == 1 {
				seats = []string{"A2", "A1"}
			}
			owner := uuid.New()
			_, err := r.Acquire(t.Context(), want(showing, owner, "1", seats...))
			var taken *lock.TakenError
			switch {
			case err == nil:
				if err := r.Release(t.Context(), showing, owner, "1", seats); err != nil {
					t.Error(err)
				}
			case errors.As(err, &taken):
				if len(taken.Holders) != 2 || taken.Holders["A1"] != taken.Holders["A2"] {
					t.Errorf("half a lock: %v", taken.Holders)
				}
			default:
				t.Error(err)
			}
		})
	}
	racers.Wait()
	require.Empty(t, r.owners(t.Context(), t, showing))
}

func manyShowings(t *testing.T, r *rig) {
	t.Helper()
	seats := make([]string, 200)
	for i := range seats {
		seats[i] = fmt.Sprint("R", i)
	}
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			showing, owner := uuid.New(), uuid.New()
			if _, err := r.Acquire(t.Context(), want(showing, owner, "1", seats...)); err != nil {
				t.Error(err)
			}
			if _, err := r.LockShowing(t.Context(), showing, owner, "2", time.Minute); err != nil {
				t.Error(err)
			}
			if _, err := r.Renew(t.Context(), want(showing, owner, "1", seats...)); err != nil {
				t.Error(err)
			}
			if err := r.Release(t.Context(), showing, owner, "1", seats); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
}

func oneSlot(t *testing.T, r *rig) {
	t.Helper()
	showing := uuid.MustParse("6b0ae3f5-7d3c-4f43-9f3a-0d3b5a0f8f10")
	require.Equal(t, r.cfg.Prefix+"{6b0ae3f5-7d3c-4f43-9f3a-0d3b5a0f8f10}:locks", r.Key(showing))
	require.Equal(t, r.Key(showing), lock.Key(r.cfg.Prefix, showing))
}

func unreadable(t *testing.T, r *rig) {
	t.Helper()
	showing, ann := uuid.New(), uuid.New()
	require.NoError(t, r.client.HSet(t.Context(), r.Key(showing),
		"A1", "x", "A2", ann.String(), "A3", ann.String()+"|soon|", "*", "", "#", "many|words").Err())
	_, err := r.Renew(t.Context(), want(showing, ann, "", "A3"))
	require.ErrorIs(t, err, lock.ErrNotHeld)
	require.ErrorIs(t, r.Release(t.Context(), showing, ann, "", []string{"A2"}), lock.ErrNotHeld)
	held, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1", "A2", "A3"))
	require.NoError(t, err)
	require.Positive(t, held.Token)
}

func nothingLeft(t *testing.T, r *rig) {
	t.Helper()
	showing, ann, bob := uuid.New(), uuid.New(), uuid.New()
	_, err := r.Acquire(t.Context(), want(showing, ann, "1", "A1", "A2"))
	require.NoError(t, err)
	_, err = r.Acquire(t.Context(), want(showing, bob, "1", "A3"))
	require.NoError(t, err)
	require.NoError(t, r.Release(t.Context(), showing, ann, "1", []string{"A1", "A2"}))
	require.NoError(t, r.Release(t.Context(), showing, bob, "1", []string{"A3"}))
	require.Zero(t, r.client.Exists(t.Context(), r.Key(showing)).Val())
}
