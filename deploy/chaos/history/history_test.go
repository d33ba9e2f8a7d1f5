package history_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

func TestSalesAreAcknowledgedConfirmsThatReturnedInTime(t *testing.T) {
	t.Parallel()
	from := time.Date(2030, 1, 2, 20, 0, 0, 0, time.UTC)
	to := from.Add(3 * time.Second)
	var r history.Recorder
	r.Add(history.Op{Kind: history.Confirm, Outcome: history.OK, Return: from.Add(-1)})
	r.Add(history.Op{Kind: history.Confirm, Outcome: history.OK, Return: from})
	r.Add(history.Op{Kind: history.Confirm, Outcome: history.OK, Return: to.Add(-1)})
	r.Add(history.Op{Kind: history.Confirm, Outcome: history.OK, Return: to})
	r.Add(history.Op{Kind: history.Confirm, Outcome: history.Refused, Return: from.Add(1)})
	r.Add(history.Op{Kind: history.Confirm, Outcome: history.Unknown})
	r.Add(history.Op{Kind: history.Hold, Outcome: history.OK, Return: from.Add(1)})

	require.Equal(t, 2, r.Sales(from, to))
}

func TestCountsAreByKindAndOutcome(t *testing.T) {
	t.Parallel()
	var r history.Recorder
	r.Add(history.Op{Kind: history.Hold, Outcome: history.OK})
	r.Add(history.Op{Kind: history.Hold, Outcome: history.Refused})
	r.Add(history.Op{Kind: history.Hold, Outcome: history.OK})
	r.Add(history.Op{Kind: history.Release, Outcome: history.Unknown})

	require.Equal(t, map[history.Count]int{
		{Kind: history.Hold, Outcome: history.OK}:         2,
		{Kind: history.Hold, Outcome: history.Refused}:    1,
		{Kind: history.Release, Outcome: history.Unknown}: 1,
	}, r.Counts())
}

func TestRecorderKeepsWhatManyClientsAddAtOnce(t *testing.T) {
	t.Parallel()
	var r history.Recorder
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for range 50 {
				r.Add(history.Op{Client: client})
			}
		})
	}
	clients.Wait()

	added := make(map[int]int)
	for _, op := range r.Ops() {
		added[op.Client]++
	}
	require.Equal(t, map[int]int{0: 50, 1: 50, 2: 50, 3: 50, 4: 50, 5: 50, 6: 50, 7: 50}, added)
}
