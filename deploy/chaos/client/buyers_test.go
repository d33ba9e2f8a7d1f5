package client_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/history"
)

// shop lets buyers buy until enough says so, or 10 s have passed.
func shop(t *testing.T, cfg client.BuyersConfig, enough func(*client.Buyers, *history.Recorder) bool) (*client.Buyers, []history.Op) {
	t.Helper()
	cfg.Seed, cfg.Think = 7, time.Millisecond
	var rec history.Recorder
	buyers, err := client.NewBuyers(8, cfg, &rec)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		defer cancel()
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for range ticks.C {
			if ctx.Err() != nil || enough(buyers, &rec) {
				return
			}
		}
	})
	require.NoError(t, buyers.Run(ctx))
	running.Wait()
	return buyers, rec.Ops()
}

func recorded(n int) func(*client.Buyers, *history.Recorder) bool {
	return func(_ *client.Buyers, rec *history.Recorder) bool { return len(rec.Ops()) >= n }
}

func someViolation(b *client.Buyers, _ *history.Recorder) bool { return len(b.Violations()) > 0 }

func TestBuyersOfARightOfficeDoEverythingAndBlameNobody(t *testing.T) {
	t.Parallel()
	o := openOffice(t, nil)
	o.holdFor = 500 * time.Millisecond // so that some may run out
	buyers, ops := shop(t, client.BuyersConfig{Replicas: o.replicas}, func(_ *client.Buyers, rec *history.Recorder) bool {
		done := 0
		for count := range rec.Counts() {
			if count.Outcome == history.OK {
				done++
			}
		}
		return done == 5
	})

	require.Empty(t, buyers.Violations())
	kinds := make(map[history.Kind]int)
	for _, op := range ops {
		if op.Outcome == history.OK {
			kinds[op.Kind]++
		}
		require.NotEqual(t, history.Unknown, op.Outcome)
		require.False(t, op.Return.Before(op.Call))
		require.NotEmpty(t, op.Owner)
		require.NotEmpty(t, op.Seats)
	}
	require.ElementsMatch(t, []history.Kind{history.Hold, history.Add, history.GiveBack, history.Confirm, history.Release},
		keys(kinds))
	sold := 0
	for _, op := range ops {
		if op.Kind == history.Confirm && op.Outcome == history.OK {
			sold += len(op.After)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	require.Equal(t, count(o.seats, "sold"), sold)
}

func keys[K comparable, V any](m map[K]V) []K {
	var all []K
	for k := range maps.Keys(m) {
		all = append(all, k)
	}
	return all
}

func count(seats map[string]string, status string) int {
	n := 0
	for _, s := range seats {
		if s == status {
			n++
		}
	}
	return n
}

// Every third command is carried out and its answer lost: the retry finds it done, and is the same op.
func TestLostAnswersAreFoundByTheirKey(t *testing.T) {
	t.Parallel()
	var o *office
	var n atomic.Int64
	o = openOffice(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Idempotency-Key") == "" || n.Add(1)%3 != 0 {
			return false
		}
		o.mux.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	buyers, ops := shop(t, client.BuyersConfig{Replicas: o.replicas}, recorded(60))

	require.Empty(t, buyers.Violations())
	retried := 0
	for _, op := range ops {
		if op.Outcome == history.OK && op.Attempts > 1 {
			retried++
		}
	}
	require.Positive(t, retried)
}

// A server that forgets its keys sells or refuses a retry anew.
func TestARetriedKeyThatAnswersAnotherBookingIsAViolation(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.PathValue("id") != "" || r.Header.Get("Idempotency-Key") == "" || !isHold(r) {
			return false
		}
		expires := time.Now().Add(time.Minute)
		say(w, answer{http.StatusCreated, booking{
			ID: uuid.New(), Showing: uuid.MustParse(r.URL.Path[len("/api/v1/showings/"):][:36]), State: "held", Seats: askedFor(r), ExpiresAt: &expires, Seq: 1,
		}})
		return true
	})
	buyers, _ := shop(t, client.BuyersConfig{Replicas: o.replicas}, func(b *client.Buyers, _ *history.Recorder) bool {
		return mentions(b.Violations(), "first it was 201 booking")
	})

	require.True(t, mentions(buyers.Violations(), "first it was 201 booking"), buyers.Violations())
	require.Equal(t, client.SameAnswer, buyers.Violations()[0].Invariant)
}

func isHold(r *http.Request) bool {
	return len(r.URL.Path) > 9 && r.URL.Path[len(r.URL.Path)-9:] == "/bookings"
}

func TestAConfirmedBookingThatReadsOtherwiseIsAViolation(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || len(r.URL.Path) < 17 || r.URL.Path[:17] != "/api/v1/bookings/" {
			return false
		}
		say(w, problem(http.StatusNotFound, "not-found", nil))
		return true
	})
	buyers, _ := shop(t, client.BuyersConfig{Replicas: o.replicas}, someViolation)

	require.True(t, mentions(buyers.Violations(), "reads 404 not-found"), buyers.Violations())
}

// What the office says is gone or not theirs was theirs a moment ago.
func TestANotFoundOrUnauthenticatedCustomerIsAViolation(t *testing.T) {
	t.Parallel()
	for slug, status := range map[string]int{"not-found": 404, "unauthenticated": 401, "booking-exists": 409, "booking-not-held": 409, "idempotency-mismatch": 422} {
		t.Run(slug, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Idempotency-Key") == "" {
					return false
				}
				say(w, problem(status, slug, nil))
				return true
			})
			buyers, _ := shop(t, client.BuyersConfig{Replicas: o.replicas}, someViolation)
			require.True(t, mentions(buyers.Violations(), "can't be right"), buyers.Violations())
		})
	}
}

func TestSendingIsToldOfEachAttemptAndReplica(t *testing.T) {
	t.Parallel()
	o := openOffice(t, nil)
	var mu sync.Mutex
	told := make(map[string]int)
	_, ops := shop(t, client.BuyersConfig{Replicas: o.replicas, Sending: func(kind history.Kind, url string) {
		mu.Lock()
		defer mu.Unlock()
		told[url]++
		told[string(kind)]++
	}}, recorded(100))

	require.GreaterOrEqual(t, told[o.urls[0]]+told[o.urls[1]], len(ops))
	require.Positive(t, told[o.urls[0]])
	require.Positive(t, told[o.urls[1]])
	require.Positive(t, told["confirm"])
}
