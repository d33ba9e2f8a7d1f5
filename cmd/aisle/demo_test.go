package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

func TestDemoSaysWhatItMade(t *testing.T) {
	t.Parallel()
	database := "--postgres-url=" + stacktest.Database(t)
	_, stderr, code := finish(t, "demo", database)
	assert.Equal(t, 1, code, "nothing is migrated yet")
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	_, stderr, code = finish(t, "migrate", database)
	require.Equal(t, 0, code, stderr)

	for _, step := range []struct {
		args []string
		want string
	}{
		{nil, "made the demo cinema\n"},
		{nil, "there already: the demo cinema\n"},
		{[]string{"--showings=2", "--rows=3", "--seats-per-row=4"}, "made a trial house (showings: 2; seats: 12, in 3 rows of 4)\n"},
		{[]string{"--showings=2", "--rows=3", "--seats-per-row=4"}, "there already: a trial house (showings: 2; seats: 12, in 3 rows of 4)\n"},
		{[]string{"--showings=1"}, "made a trial house (showings: 1; seats: 240, in 12 rows of 20)\n"},
	} {
		stdout, stderr, code := finish(t, append([]string{"demo", database}, step.args...)...)
		require.Equal(t, 0, code, stderr)
		assert.Equal(t, step.want, stdout)
	}
}

// A load test should not wait for its cinema.
func TestAThousandShowingsTakeSeconds(t *testing.T) {
	t.Parallel()
	database := "--postgres-url=" + stacktest.Database(t)
	_, stderr, code := finish(t, "migrate", database)
	require.Equal(t, 0, code, stderr)
	began := time.Now()
	_, stderr, code = finish(t, "demo", database, "--showings=1000", "--rows=15")
	require.Equal(t, 0, code, stderr)
	assert.Less(t, time.Since(began), 20*time.Second)
}
