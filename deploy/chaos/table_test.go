package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/judge"
	"github.com/aislehq/aisle/deploy/chaos/plant"
	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

func TestEachPlantedBugHasARunThatShowsIt(t *testing.T) {
	t.Parallel()
	known := scenario.Invariants()
	for _, p := range plant.All() {
		catch, ok := catches()[p.Name]
		require.True(t, ok, p.Name)
		_, ok = scenario.Named(catch.scenario)
		assert.True(t, ok, catch.scenario)
		assert.Subset(t, known, catch.invariants)
	}
}

// What a page says is what the reports said: sums, medians, and each run that broke something.
func TestPageSaysWhatTheReportsSay(t *testing.T) {
	t.Parallel()
	results := filepath.Join(t.TempDir(), "new", "results.jsonl")
	for i, r := range []scenario.Report{
		{Seed: 7, Operations: 1000, Sales: 200, Unknown: 1, RightAfter: 3200 * time.Millisecond, Lasted: 10 * time.Second, Before: 50, During: 30, After: 40},
		{Seed: 8, Operations: 1100, Sales: 210, Unknown: 2, RightAfter: 3400 * time.Millisecond, Lasted: 10 * time.Second, Before: 52, During: 10, After: 41},
		{
			Seed: 9, Operations: 1200, Sales: 220, RightAfter: 3100 * time.Millisecond, Lasted: 10 * time.Second, Before: 60, During: 20, After: 44,
			Violations: []judge.Violation{{Invariant: judge.NothingLost, Detail: "A1"}, {Invariant: judge.NothingLost, Detail: "A2"}},
		},
		{Seed: 7, Plant: "guard", Violations: []judge.Violation{{Invariant: judge.NoTwoOwners, Detail: "A1"}, {Invariant: judge.SameAnswer, Detail: "A1"}}},
	} {
		r.Scenario = "redis-killed"
		require.NoError(t, add(results, r), i)
	}
	reports, err := load(results)
	require.NoError(t, err)
	text, err := render(reports, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	page := string(text)

	assert.Contains(t, page, "3 runs, 3300 operations of buyers, 630 sales,\n1 runs in which an invariant was broken")
	assert.Contains(t, page, "| 3 | 3300 | 630 | 3 | 3.4 s | ✓ | **2/3** | ✓ |")
	assert.Contains(t, page, "| Redis, all of it | redis-killed | 10 s | 52 | 20 | 41 |")
	assert.Contains(t, page, "| redis-killed | 7 | no two owners, same answer |")
	assert.Contains(t, page, "redis-killed 7 8 9;")
	assert.Contains(t, page, "- redis-killed, seed 9: nothing lost: A1\n")
	assert.NotContains(t, page, "postgres-killed", "what did not run is not there")
	assert.Equal(t, len(scenario.Invariants())+6, strings.Count(line(page, "| fault |"), " |"))
}

func TestResultsThatAreNotThere(t *testing.T) {
	t.Parallel()
	_, err := load(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no results yet")
}

// line is the first that begins so.
func line(text, begin string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, begin) {
			return l
		}
	}
	return ""
}
