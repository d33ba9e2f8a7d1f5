package plant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrOutgrown says that a bug can't be planted any more, because the code has changed where it would go.
var ErrOutgrown = errors.New("plant: the code has outgrown the bug")

// Plant is one bug that can be planted.
type Plant struct {
	// Name is a word, such as "guard".
	Name string
	// What says in a line what is wrong with the program.
	What    string
	changes []change
}

// change replaces the only place in a file where old is.
type change struct {
	// file is relative to the repository.
	file     string
	old, new string
}

// All are the bugs that can be planted.
func All() []Plant {
	return []Plant{guard(), epoch(), gap(), position()}
}

// Build builds the program aisle of the repository repoDir with p in it, and returns where in outDir it lies.
// Errors: ErrOutgrown; what the compiler says.
func Build(ctx context.Context, repoDir, outDir string, p Plant) (string, error) {
	repo, err := filepath.Abs(repoDir)
	if err != nil {
		return "", fmt.Errorf("plant %q: %w", p.Name, err)
	}
	out, err := filepath.Abs(outDir)
	if err != nil {
		return "", fmt.Errorf("plant %q: %w", p.Name, err)
	}
	files, err := p.apply(repo)
	if err != nil {
		return "", err
	}
	work, err := os.MkdirTemp("", "aisle-plant-")
	if err != nil {
		return "", fmt.Errorf("plant %q: %w", p.Name, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	overlay, err := writeOverlay(repo, work, files)
	if err != nil {
		return "", fmt.Errorf("plant %q: %w", p.Name, err)
	}
	binary := filepath.Join(out, "aisle-"+p.Name)
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-overlay=" + overlay, "-o", binary, "./cmd/aisle"}
	build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own paths
	build.Dir = repo
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("plant %q: go build: %w: %s", p.Name, err, strings.TrimSpace(string(said)))
	}
	return binary, nil
}

// apply makes the changes in the repository's text and returns the files that are different then.
func (p Plant) apply(repo string) (map[string]string, error) {
	files := map[string]string{}
	for _, c := range p.changes {
		text, ok := files[c.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(repo, c.file))
			if err != nil {
				return nil, fmt.Errorf("plant %q: %w: %w", p.Name, ErrOutgrown, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, c.old); n != 1 {
			return nil, fmt.Errorf("plant %q: %w: %s has %d times, not once: %q", p.Name, ErrOutgrown, c.file, n, c.old)
		}
		files[c.file] = strings.Replace(text, c.old, c.new, 1)
	}
	return files, nil
}

// writeOverlay writes the files into the directory work, and there the list of them that go build reads.
func writeOverlay(repo, work string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range files {
		// The extension stays: go build tells files by it.
		path := filepath.Join(work, strconv.Itoa(len(replace))+"-"+filepath.Base(file))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(repo, file)] = path
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}
