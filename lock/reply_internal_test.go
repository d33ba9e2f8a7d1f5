package lock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRepliesAreRead(t *testing.T) {
	t.Parallel()
	ann := uuid.MustParse("6b0ae3f5-7d3c-4f43-9f3a-0d3b5a0f8f10")
	held, err := decodeAcquire([]any{"held", int64(7)})
	require.NoError(t, err)
	require.Equal(t, Held{Token: 7}, held)
	_, err = decodeAcquire([]any{"taken", int64(7), "A1", ann.String()})
	require.Equal(t, &TakenError{Token: 7, Holders: map[string]uuid.UUID{"A1": ann}}, err)
	require.EqualError(t, err, "lock: 1 of the wanted seats are taken")
	_, err = decodeAcquire([]any{"locked", int64(7), ann.String()})
	require.ErrorIs(t, err, ErrShowingLocked)
	_, err = decodeAcquire([]any{"nested", int64(7), "A1"})
	require.ErrorIs(t, err, ErrTooManyNested)
	_, err = decodeRenew([]any{"lost", int64(7), "A1"})
	require.ErrorIs(t, err, ErrNotHeld)
	require.NoError(t, decodeRelease([]any{"released", int64(7)}))

	for _, nonsense := range []any{
		nil, "held", int64(1),
		[]any{},
		[]any{"held"},
		[]any{"held", "7"},
		[]any{"held", int64(-1)},
		[]any{7, int64(7)},
		[]any{"held", int64(7), "A1"},
		[]any{"taken", int64(7)},
		[]any{"taken", int64(7), "A1"},
		[]any{"taken", int64(7), "A1", "nobody"},
		[]any{"taken", int64(7), "A1", nil},
		[]any{"what", int64(7)},
	} {
		_, err := decodeAcquire(nonsense)
		require.ErrorIs(t, err, ErrUnavailable, "%v", nonsense)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	good := Request{Showing: uuid.New(), Owner: uuid.New(), ID: "1", Seats: []string{"A1", "A2"}, TTL: time.Second}
	require.NoError(t, good.checkTaking())
	for name, spoil := range map[string]func(*Request){
		"no showing":            func(r *Request) { r.Showing = uuid.Nil },
		"no owner":              func(r *Request) { r.Owner = uuid.Nil },
		"no id":                 func(r *Request) { r.ID = "" },
		"no seats":              func(r *Request) { r.Seats = nil },
		"too many seats":        func(r *Request) { r.Seats = make([]string, MaxSeats+1) },
		"an empty seat":         func(r *Request) { r.Seats = []string{""} },
		"a long seat":           func(r *Request) { r.Seats = []string{strings.Repeat("A", 65)} },
		"the bookkeeping":       func(r *Request) { r.Seats = []string{"#"} },
		"a seat twice":          func(r *Request) { r.Seats = []string{"A1", "A1"} },
		"the whole and a part":  func(r *Request) { r.Seats = []string{"A1", WholeShowing} },
		"no TTL":                func(r *Request) { r.TTL = 0 },
		"a TTL below one ms":    func(r *Request) { r.TTL = time.Microsecond },
		"a TTL beyond all ends": func(r *Request) { r.TTL = MaxTTL + 1 },
	} {
		bad := good
		spoil(&bad)
		require.ErrorIs(t, bad.checkTaking(), ErrInvalidRequest, name)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := New(nil, Config{Prefix: "a{b}"})
	require.ErrorContains(t, err, "brace")
	err = Config{Prefix: "a:"}.Validate()
	for _, says := range []string{"timeout", "batch", "queue", "probe"} {
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, Config{}.WithDefaults().Validate())
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	at := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	failed := errors.New("gone")
	b := breaker{every: time.Second, timeout: 250 * time.Millisecond}
	b.report(failed, at(0))
	b.report(failed, at(1))
	b.report(nil, at(2))
	b.report(failed, at(3))
	b.report(failed, at(4))
	require.NoError(t, b.allow(at(5)), "two in a row are not enough")
	b.report(failed, at(6))
	require.ErrorIs(t, b.allow(at(7)), errResting)
	require.ErrorIs(t, b.allow(at(1005)), failed)
	require.NoError(t, b.allow(at(1006)), "a probe")
	require.ErrorIs(t, b.allow(at(1007)), errResting, "one at a time")
	require.NoError(t, b.allow(at(2256)), "the probe never reported")
	b.report(failed, at(2300))
	require.ErrorIs(t, b.allow(at(3299)), errResting)
	require.NoError(t, b.allow(at(3300)))
	b.report(nil, at(3301))
	require.NoError(t, b.allow(at(3302)))
	require.NoError(t, b.allow(at(3302)))
}
