package client_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/history"
)

func TestLoadIsRecordedAndCounted(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	o := openOffice(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Idempotency-Key") == "" || n.Add(1)%4 != 0 {
			return false
		}
		say(w, problem(http.StatusServiceUnavailable, "unavailable", nil))
		return true
	})
	var rec history.Recorder
	report, err := client.Load(t.Context(), client.LoadConfig{
		Replicas: o.replicas, Rate: 200, For: 300 * time.Millisecond, InFlight: 8, Sold: 0.2, FirstClient: 100,
	}, &rec)
	require.NoError(t, err)

	told := make(map[string]int)
	for _, op := range rec.Ops() {
		require.GreaterOrEqual(t, op.Client, 100)
		require.NotEmpty(t, op.Key)
		require.NotEqual(t, history.Unknown, op.Outcome)
		told[op.Problem]++
	}
	require.Positive(t, told[""])
	require.Positive(t, told["unavailable"])
	require.Equal(t, told[""], report.Total.Accepted.Count)
	require.Equal(t, told["unavailable"], report.Total.Shed.Count)
	// Seats come round again, and some are held by purchases whose end was shed.
	require.Equal(t, told["seats-unavailable"], report.Total.Refused.Count)
	require.Zero(t, report.Total.Failed.Count)
	require.Positive(t, report.Total.Accepted.P50)
	require.LessOrEqual(t, report.Total.Accepted.P50, report.Total.Accepted.Max)
	require.NotEmpty(t, report.Seconds)
}

// Arrivals do not wait for answers: what finds no place is counted.
func TestAnOpenLoopCountsWhatItCouldNotBegin(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Idempotency-Key") != "" {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
			<-r.Context().Done()               // never answered
			panic(http.ErrAbortHandler)
		}
		return false
	})
	var rec history.Recorder
	report, err := client.Load(t.Context(), client.LoadConfig{
		Replicas: o.replicas, Rate: 500, For: 200 * time.Millisecond, InFlight: 3, Attempt: time.Second,
	}, &rec)
	require.NoError(t, err)
	require.Equal(t, 3, report.Total.Failed.Count)
	require.Positive(t, report.Total.Unstarted)
	require.Equal(t, map[history.Count]int{{Kind: history.Hold, Outcome: history.Unknown}: 3}, rec.Counts())
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	o := openOffice(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := client.Load(ctx, client.LoadConfig{Replicas: o.replicas, Rate: 50, For: time.Hour, InFlight: 2}, new(history.Recorder))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestConfigsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	nobody := func() []string { return nil }
	require.ErrorContains(t, client.BuyersConfig{}.WithDefaults().Validate(), "no Replicas")
	require.ErrorContains(t, client.BuyersConfig{Replicas: nobody, Think: -1}.WithDefaults().Validate(), "above 0")
	require.NoError(t, client.BuyersConfig{Replicas: nobody}.WithDefaults().Validate())
	require.ErrorContains(t, client.WatchersConfig{}.WithDefaults().Validate(), "no Replicas")
	require.ErrorContains(t, client.WatchersConfig{Replicas: nobody, Ping: -1}.WithDefaults().Validate(), "above 0")
	require.NoError(t, client.WatchersConfig{Replicas: nobody}.WithDefaults().Validate())
	require.ErrorContains(t, client.LoadConfig{}.WithDefaults().Validate(), "no Replicas")
	require.ErrorContains(t, client.LoadConfig{Replicas: nobody}.WithDefaults().Validate(), "above 0")
	require.ErrorContains(t, client.LoadConfig{Replicas: nobody, Rate: 1, For: 1, Sold: 2}.WithDefaults().Validate(), "share")
	_, err := client.NewBuyers(0, client.BuyersConfig{Replicas: nobody}, nil)
	require.Error(t, err)
	_, err = client.NewWatchers(0, client.WatchersConfig{Replicas: nobody})
	require.Error(t, err)
}

func TestNothingIsEverOnSale(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	buyers, err := client.NewBuyers(1, client.BuyersConfig{Replicas: func() []string { return nil }}, new(history.Recorder))
	require.NoError(t, err)
	require.ErrorContains(t, buyers.Run(ctx), "no showing is open for sale")
}
