package plant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const repository = "../../.."

// Whoever changes the code where a bug would go hears of it here, and not when the judge has nothing to find.
func TestTheCodeHasNotOutgrownTheBugs(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
		files, err := p.apply(repository)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for file, planted := range files {
			sound, err := os.ReadFile(filepath.Join(repository, file))
			require.NoError(t, err)
			require.NotEqual(t, string(sound), planted, "%s: %s", p.Name, file)
		}
	}
	require.Equal(t, []string{"guard", "epoch", "gap", "position"}, names)
}

func TestABugThatDoesNotFitIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two two"), 0o600))
	for want, c := range map[string]change{
		`plant "weed": plant: the code has outgrown the bug: a.go has 0 times, not once: "three"`: {file: "a.go", old: "three"},
		`plant "weed": plant: the code has outgrown the bug: a.go has 2 times, not once: "two"`:   {file: "a.go", old: "two"},
	} {
		_, err := Build(t.Context(), dir, dir, Plant{Name: "weed", changes: []change{c}})
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, ErrOutgrown)
	}
	_, err := Build(t.Context(), dir, dir, Plant{Name: "weed", changes: []change{{file: "gone.go", old: "x"}}})
	require.ErrorIs(t, err, ErrOutgrown)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestChangesOfOneFileAddUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two"), 0o600))
	files, err := Plant{changes: []change{
		{file: "a.go", old: "one", new: "1"}, {file: "a.go", old: "1 two", new: "2"},
	}}.apply(dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.go": "2"}, files)
}
