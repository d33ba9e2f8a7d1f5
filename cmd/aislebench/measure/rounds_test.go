package measure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

// player yields the given rates, one a round.
func player(name string, order *[]string, rates ...float64) measure.Contestant {
	return measure.Contestant{Name: name, Round: func(context.Context) (measure.Sample, error) {
		*order = append(*order, name)
		rate := rates[0]
		rates = rates[1:]
		return measure.Sample{measure.Rate: rate}, nil
	}}
}

func TestContestantsTakeTurnsAndTheMedianCounts(t *testing.T) {
	t.Parallel()
	var order []string
	results, err := measure.Alternate(t.Context(), measure.Rounds{Warmup: 1, Measured: 3}, []measure.Contestant{
		player("a", &order, 999, 10, 30, 20), player("b", &order, 999, 5, 5, 5),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b", "a", "b"}, order)
	require.Equal(t, []measure.Result{
		{Name: "a", Median: measure.Sample{measure.Rate: 20}, Noise: measure.Sample{measure.Rate: 1}},
		{Name: "b", Median: measure.Sample{measure.Rate: 5}, Noise: measure.Sample{measure.Rate: 0}},
	}, results)
}

func TestAFailedRoundEndsTheRow(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := measure.Alternate(t.Context(), measure.Rounds{Measured: 3}, []measure.Contestant{
		{Name: "a", Round: func(context.Context) (measure.Sample, error) { return nil, broken }},
	})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "a: ")
}

func TestAnEvenNumberOfRoundsHasTheMiddleOfTwo(t *testing.T) {
	t.Parallel()
	var order []string
	results, err := measure.Alternate(t.Context(), measure.Rounds{Measured: 4}, []measure.Contestant{player("a", &order, 1, 2, 4, 9)})
	require.NoError(t, err)
	require.InDelta(t, 3, results[0].Median[measure.Rate], 1e-9)
}
