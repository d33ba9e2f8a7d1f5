package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// script is a replica that says one thing after the other, the last for ever.
type script struct {
	mu   sync.Mutex
	says []said
	keys []string // of the requests
}

type said struct {
	status int
	slug   string
	header http.Header
	cut    bool // the request is taken, and never answered
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	now := s.says[0]
	if len(s.says) > 1 {
		s.says = s.says[1:]
	}
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	s.mu.Unlock()
	if now.cut {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), now.header)
	w.WriteHeader(now.status)
	if now.status == http.StatusNoContent {
		return
	}
	_, _ = fmt.Fprintf(w, `{"type": "/problems/%s", "status": %d, "id": %q}`, now.slug, now.status, uuid.Nil)
}

// released sends a release to what says, until it is settled.
func released(t *testing.T, says ...said) (verdict, *script) {
	t.Helper()
	s := &script{says: says}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	api := NewAPI()
	t.Cleanup(api.Close)
	e := errand{
		cfg: BuyersConfig{
			Replicas: func() []string { return []string{server.URL} }, Patience: 300 * time.Millisecond, MaxRetryAfter: 10 * time.Millisecond,
		}.WithDefaults(),
		session: Session{api: api, ID: uuid.New(), token: "t"},
		command: Command{Kind: history.Release, Booking: uuid.New(), Key: "k"},
		rng:     rand.New(rand.NewPCG(1, 2)),
	}
	return e.run(t.Context()), s
}

func TestAnErrandEnds(t *testing.T) {
	t.Parallel()
	var (
		lost        = said{cut: true}
		unknown     = said{status: 503, slug: "outcome-unknown"}
		inFlight    = said{status: 409, slug: "request-in-flight"}
		unavailable = said{status: 503, slug: "unavailable", header: http.Header{"Retry-After": {"30"}}}
		limited     = said{status: 429, slug: "rate-limited", header: http.Header{"Retry-After": {"30"}}}
		taken       = said{status: 409, slug: "seats-unavailable"}
		expired     = said{status: 410, slug: "hold-expired"}
		broken      = said{status: 500}
		ok          = said{status: 204}
	)
	for name, test := range map[string]struct {
		says     []said
		outcome  history.Outcome
		status   int
		attempts int // 0: many
	}{
		"at once":                        {[]said{ok}, history.OK, 204, 1},
		"after a lost answer":            {[]said{lost, ok}, history.OK, 204, 2},
		"after what is worked on":        {[]said{unknown, inFlight, ok}, history.OK, 204, 3},
		"after what did nothing":         {[]said{unavailable, limited, ok}, history.OK, 204, 3},
		"refused":                        {[]said{taken}, history.Refused, 409, 1},
		"refused after what did nothing": {[]said{unavailable, taken}, history.Refused, 409, 2},
		"refused, but a lost attempt may yet be done": {[]said{lost, taken}, history.Unknown, 409, 2},
		"refused, but one of unknown outcome may be":  {[]said{unknown, taken}, history.Unknown, 409, 2},
		"refused for good after a lost attempt":       {[]said{lost, expired}, history.Refused, 410, 2},
		"never anything done":                         {[]said{unavailable}, history.Refused, 503, 0},
		"never anything told":                         {[]said{unknown, unavailable}, history.Unknown, 503, 0},
		"outside the contract":                        {[]said{broken, ok}, history.OK, 204, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, s := released(t, test.says...)
			require.Equal(t, test.outcome, v.outcome)
			require.Equal(t, test.status, v.answer.Status)
			if test.attempts > 0 {
				require.Equal(t, test.attempts, v.attempts)
			} else {
				require.Greater(t, v.attempts, 3, "a Retry-After is capped")
			}
			for _, key := range s.keys {
				require.Equal(t, "k", key)
			}
			require.Equal(t, test.says[0].status == broken.status, v.odd != nil)
		})
	}
}

func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	api := NewAPI()
	_, err := api.NewSession(t.Context(), server.URL)
	require.ErrorIs(t, err, ErrNotSent)
	op := Finished(history.Op{}, Answer{}, err)
	require.Equal(t, history.Unknown, op.Outcome)
}

// An attempt in flight is worth waiting for when the run ends; a further one is not.
func TestTheEndOfTheRunCutsNoAttemptShort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	api := NewAPI()
	t.Cleanup(api.Close)
	e := errand{
		cfg:     BuyersConfig{Replicas: func() []string { return []string{server.URL} }}.WithDefaults(),
		session: Session{api: api}, command: Command{Kind: history.Release, Key: "k"}, rng: rand.New(rand.NewPCG(1, 2)),
	}
	require.Equal(t, history.OK, e.run(ctx).outcome)
}

func TestFinished(t *testing.T) {
	t.Parallel()
	booking := &Booking{ID: uuid.New(), State: "confirmed", Seats: []string{"A1"}, Seq: 5}
	for name, test := range map[string]struct {
		answer  Answer
		err     error
		outcome history.Outcome
	}{
		"done":           {Answer{Status: 200, Booking: booking}, nil, history.OK},
		"refused":        {Answer{Status: 410, Problem: "hold-expired"}, nil, history.Refused},
		"nothing done":   {Answer{Status: 429, Problem: "rate-limited"}, nil, history.Refused},
		"nobody knows":   {Answer{Status: 503, Problem: "outcome-unknown"}, nil, history.Unknown},
		"worked on":      {Answer{Status: 409, Problem: "request-in-flight"}, nil, history.Unknown},
		"never answered": {Answer{}, errors.Join(ErrNoAnswer), history.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := time.Now()
			op := Finished(history.Op{Kind: history.Confirm, Call: called}, test.answer, test.err)
			require.Equal(t, test.outcome, op.Outcome)
			require.Equal(t, test.answer.Status, op.Status)
			require.Equal(t, test.answer.Problem, op.Problem)
			require.Equal(t, called, op.Call)
			require.Equal(t, test.outcome == history.Unknown, op.Return.IsZero())
			if test.answer.Booking != nil {
				require.Equal(t, booking.ID, op.Booking)
				require.Equal(t, []string{"A1"}, op.After)
				require.Equal(t, int64(5), op.Seq)
			}
		})
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 20, 0, 0, 0, time.UTC)
	first, second := &Booking{ID: uuid.New(), State: "held"}, &Booking{ID: uuid.New(), State: "held"}
	say := func(outcome history.Outcome, call, returned int, a Answer) verdict {
		v := verdict{
			outcome: outcome, attempts: 1, answers: 1, answer: a,
			call: at.Add(time.Duration(call) * time.Second), returned: at.Add(time.Duration(returned) * time.Second),
		}
		return v
	}
	var (
		done = func(call, returned int) verdict {
			return say(history.OK, call, returned, Answer{Status: 201, Booking: first})
		}
		other = say(history.OK, 2, 4, Answer{Status: 201, Booking: second})
		taken = func(call, returned int) verdict {
			return say(history.Refused, call, returned, Answer{Status: 409, Problem: "seats-unavailable"})
		}
		expired = say(history.Refused, 2, 4, Answer{Status: 410, Problem: "hold-expired"})
		exists  = say(history.Refused, 1, 2, Answer{Status: 409, Problem: "booking-exists"})
		unknown = say(history.Unknown, 1, 9, Answer{Status: 503, Problem: "outcome-unknown"})
	)
	for name, test := range map[string]struct {
		a, b           verdict
		outcome        history.Outcome
		call, returned int
		wrong          bool
	}{
		"both done":                     {done(1, 5), done(2, 4), history.OK, 1, 4, false},
		"both done, but not the same":   {done(1, 5), other, history.OK, 1, 4, true},
		"done, and refused before":      {taken(1, 2), done(1, 5), history.OK, 1, 5, false},
		"done, and refused at the time": {done(1, 3), taken(2, 4), history.OK, 1, 3, false},
		"done, then refused":            {done(1, 3), taken(4, 5), history.OK, 1, 3, true},
		"done, and in its own way":      {done(1, 3), exists, history.OK, 1, 3, true},
		"done, and refused for good":    {done(1, 3), expired, history.OK, 1, 3, true},
		"done, and unknown":             {unknown, done(2, 3), history.OK, 1, 3, false},
		"both refused":                  {taken(1, 3), taken(2, 5), history.Refused, 1, 5, false},
		"refused, and unknown":          {taken(1, 3), unknown, history.Unknown, 1, 3, false},
		"refused for good, and unknown": {unknown, expired, history.Refused, 1, 4, false},
		"both unknown":                  {unknown, unknown, history.Unknown, 1, 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			joined, err := join(test.a, test.b)
			require.Equal(t, test.wrong, err != nil, err)
			require.Equal(t, test.outcome, joined.outcome)
			require.Equal(t, 2, joined.attempts)
			require.Equal(t, at.Add(time.Duration(test.call)*time.Second), joined.call)
			require.Equal(t, at.Add(time.Duration(test.returned)*time.Second), joined.returned)
		})
	}
}
