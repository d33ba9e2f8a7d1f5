package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range scenario.All() {
		assert.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		assert.NotEmpty(t, s.What, s.Name)
		assert.NotNil(t, s.Break, s.Name)
		found, ok := scenario.Named(s.Name)
		assert.True(t, ok)
		assert.Equal(t, s.What, found.What)
	}
	_, ok := scenario.Named("nothing-of-the-kind")
	assert.False(t, ok)
}

// The documents have a table of what happens when something is gone: a run shows each of its rows.
func TestEachRowOfTheTableOfFailuresHasARun(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{}
	for _, s := range scenario.All() {
		if s.Row != "" {
			rows[s.Row] = true
		}
	}
	assert.Equal(t, map[string]bool{
		"leader": true, "etcd, all of it": true, "Redis, all of it": true, "PostgreSQL": true, "one replica": true,
	}, rows)
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  scenario.Config
		want string
	}{
		"no binary":        {scenario.Config{Dir: "x"}, "no aisle to run"},
		"no directory":     {scenario.Config{Binary: "x"}, "no directory"},
		"buyers too long":  {scenario.Config{Binary: "x", Dir: "x", After: 6e9}, "buyers must stop"},
		"the usual: right": {scenario.Config{Binary: "x", Dir: "x"}, ""},
	} {
		err := c.cfg.WithDefaults().Validate()
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, c.want, name)
	}
}
