package judge_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/judge"
)

func TestWatchers(t *testing.T) {
	t.Parallel()
	showing := idOf("showing")
	maps := map[uuid.UUID]judge.Map{showing: {Log: "k3f9", Seq: 41, Seats: map[string]string{"A1": "sold", "A2": "available"}}}
	view := func(change func(v *judge.View)) judge.View {
		v := judge.View{Watcher: 3, Showing: showing, Log: "k3f9", Seq: 41, Seats: map[string]string{"A1": "sold", "A2": "available", "A3": "available"}}
		change(&v)
		return v
	}
	right := view(func(*judge.View) {})
	require.Empty(t, judge.Watchers([]judge.View{right, right}, maps))

	cases := map[string]struct {
		view   judge.View
		detail string
	}{
		"behind": {
			view(func(v *judge.View) { v.Seq = 40 }),
			"expected seq 41 of log k3f9, got seq 40 of log \"k3f9\" (stale: false)",
		},
		"of another log": {
			view(func(v *judge.View) { v.Log = "other" }),
			"expected seq 41 of log k3f9, got seq 41 of log \"other\" (stale: false)",
		},
		"stale": {
			view(func(v *judge.View) { v.Stale = true }),
			"expected seq 41 of log k3f9, got seq 41 of log \"k3f9\" (stale: true)",
		},
		"wrong at a seat": {
			view(func(v *judge.View) { v.Seats["A1"] = "held" }),
			"seat A1: expected sold, got \"held\"",
		},
		"without a seat that others have": {
			view(func(v *judge.View) { delete(v.Seats, "A3") }),
			"seat A3: expected available, got \"\"",
		},
		"of a showing that is not": {
			view(func(v *judge.View) { v.Showing = uuid.Nil }),
			"showing 00000000-0000-0000-0000-000000000000 is not in the log",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := judge.Watchers([]judge.View{right, c.view}, maps)
			require.Len(t, found, 1, "%v", found)
			require.Equal(t, judge.WatchersRight, found[0].Invariant)
			require.Contains(t, found[0].Detail, "watcher 3: ")
			require.Contains(t, found[0].Detail, c.detail)
		})
	}
}

// A thousand watchers who are all wrong are told in twenty lines and a count.
func TestWatchersAllWrong(t *testing.T) {
	t.Parallel()
	found := judge.Watchers(make([]judge.View, 1000), nil)
	require.Len(t, found, 21)
	require.Equal(t, "… and 980 more of these", found[20].Detail)
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	before := map[string]judge.Sample{
		"one": {Goroutines: 100, FDs: 20, RSS: 50 << 20, Heap: 10 << 20},
		"two": {Goroutines: 120, FDs: 10, RSS: 60 << 20, Heap: 5 << 20},
	}
	slack := judge.Slack{Goroutines: 10, FDs: 5, RSS: 1 << 20, Heap: 1 << 20}
	require.Empty(t, judge.Growth(before, before, slack))
	require.Empty(t, judge.Growth(before, map[string]judge.Sample{
		"one": {Goroutines: 110, FDs: 25, RSS: 51 << 20, Heap: 11 << 20},
		"new": {Goroutines: 130, FDs: 25, RSS: 61 << 20, Heap: 11 << 20},
	}, slack))
	require.Equal(t, []judge.Violation{
		{Invariant: judge.NoGrowth, Detail: "new: descriptors went from 20 to 26, more than 5 above"},
		{Invariant: judge.NoGrowth, Detail: "one: goroutines went from 100 to 111, more than 10 above"},
	}, judge.Growth(before, map[string]judge.Sample{"one": {Goroutines: 111}, "new": {FDs: 26}}, slack))
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	v := judge.Verdict{Operations: 1200, Seats: 240, Events: 9000, Sales: 300, Watchers: 1000, Messages: 4000, Took: 21 * time.Second}
	require.True(t, v.OK())
	require.Equal(t, "every claim held: 1200 operations on 240 seats, 9000 events, 300 sales, 1000 watchers, 4000 messages in 21s\n", v.String())
	v.Add(
		judge.Violation{Invariant: judge.NeverBack, Detail: "it did"},
		judge.Violation{Invariant: judge.NoTwoOwners, Detail: "there were"},
		judge.Violation{Invariant: judge.NeverBack, Detail: "it did again"},
	)
	require.False(t, v.OK())
	require.Equal(t, map[string]int{judge.NeverBack: 2, judge.NoTwoOwners: 1}, v.Broken())
	require.Equal(t, "3 violations: 1200 operations on 240 seats, 9000 events, 300 sales, 1000 watchers, 4000 messages in 21s\n"+
		"  no two owners: there were\n  never back: it did\n  never back: it did again\n", v.String())
}
