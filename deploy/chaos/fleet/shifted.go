package fleet

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockVariable says to a shifted binary how far ahead its clock is, like 30s or -1h.
const clockVariable = "AISLE_CLOCK_AHEAD"

// aheadSource is what package time gains in a shifted binary.
//
//go:embed overlay/ahead.go.txt
var aheadSource string

// What Now is in a shifted binary.
const (
	trueNow    = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	shiftedNow = trueNow + "\tsec += ahead\n"
)

// Shifted builds the program of a checkout with a clock that Config.ReplicaClock sets: the product is as it is, but its
// package time reads an environment variable at the start. It compiles the standard library, too: minutes for the first
// time, seconds when Go has it in its build cache. The binary lies in outDir.
func Shifted(ctx context.Context, repoDir, outDir string) (binary string, err error) {
	if err := makeDirs(outDir); err != nil {
		return "", err
	}
	if outDir, err = filepath.Abs(outDir); err != nil {
		return "", fmt.Errorf("fleet: shifted clock: %w", err)
	}
	overlay, err := writeOverlay(ctx, repoDir, outDir)
	if err != nil {
		return "", fmt.Errorf("fleet: shifted clock: %w", err)
	}
	binary = filepath.Join(outDir, "aisle-shifted")
	if _, err := goTool(ctx, repoDir, "build", "-buildvcs=false", "-overlay", overlay, "-o", binary, "./cmd/aisle"); err != nil {
		return "", fmt.Errorf("fleet: shifted clock: %w", err)
	}
	return binary, nil
}

// writeOverlay writes the changed package time, and the file that tells go build about it.
func writeOverlay(ctx context.Context, repoDir, outDir string) (path string, err error) {
	goroot, err := goTool(ctx, repoDir, "env", "GOROOT")
	if err != nil {
		return "", err
	}
	src := filepath.Join(strings.TrimSpace(goroot), "src", "time")
	source, err := os.ReadFile(filepath.Join(src, "time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), trueNow); n != 1 {
		return "", fmt.Errorf("this Go's time.Now is another: it has %d times what we would change", n)
	}
	replaced := map[string]string{
		"time.go":  strings.Replace(string(source), trueNow, shiftedNow, 1),
		"ahead.go": aheadSource,
	}
	files := map[string]string{}
	for name, text := range replaced {
		files[filepath.Join(src, name)] = filepath.Join(outDir, name)
		if err := os.WriteFile(filepath.Join(outDir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return "", err
	}
	path = filepath.Join(outDir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// goTool runs the go command in a directory and returns what it printed.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // Our own arguments.
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
