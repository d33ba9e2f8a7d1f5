package measure_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	measure.Report{
		Title: "Selling", About: "How fast.",
		Tables: []measure.Table{{
			Main:    measure.Rate,
			Columns: []measure.Column{{"sold/s", measure.Rate, measure.Number}, {"p99", measure.P99, measure.Seconds}, {"cores", measure.SelfCPU, measure.Cores}},
			Results: []measure.Result{
				{Name: "ours", Median: measure.Sample{measure.Rate: 12345.6, measure.P99: 0.0123, measure.SelfCPU: 1.234}, Noise: measure.Sample{measure.Rate: 0.04}},
				{Name: "theirs", Median: measure.Sample{measure.Rate: 9.5, measure.P99: 2.5}},
			},
			Ratios: []measure.Ratio{{"sold/s", 8.125, 8, false}, {"p99", 0.25, 0.2, true}, {"other", 1, 0, false}},
		}},
	}.Markdown(&out)
	require.Equal(t, `## Selling

How fast.

|  | sold/s | p99 | cores | noise |
| --- | --: | --: | --: | --: |
| ours | 12,346 | 12.3 ms | 1.23 | 4 % |
| theirs | 9.50 | 2.50 s | – | 0 % |

| ratio | here | goal |  |
| --- | --: | --: | --- |
| sold/s | 8.12 | ≥ 8 | met |
| p99 | 0.25 | ≤ 0.2 | **not met** |
| other | 1 | – |  |
`, out.String())
}

func TestAgainst(t *testing.T) {
	t.Parallel()
	a := measure.Result{Median: measure.Sample{measure.Rate: 30}}
	b := measure.Result{Median: measure.Sample{measure.Rate: 10}}
	require.InDelta(t, 3, measure.Against(a, b, measure.Rate), 1e-9)
	require.Zero(t, measure.Against(a, b, measure.P99), "a figure that nobody has")
}

func TestCurve(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	measure.Report{Curves: []measure.Curve{{
		Title: "Rate by callers", X: "callers", Y: "rows/s",
		Lines: []measure.Line{{Name: "ours", Points: []measure.Point{{X: 1, Y: 10}, {X: 64, Y: 640}}}},
	}}}.Markdown(&out)
	require.Contains(t, out.String(), "| callers | 1 | 64 |\n| --- | --: | --: |\n| ours | 10.0 | 640 |\n")
	require.Contains(t, out.String(), "<svg ")
	require.Contains(t, out.String(), "Rate by callers")
}
