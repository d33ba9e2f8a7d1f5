package stacktest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// dirPrefix starts the names of all our directories, so that a later run finds what a killed one left.
const dirPrefix = "aisle-test-"

// staleAfter is the age past which a directory without an owner is removed.
const staleAfter = time.Hour

// Dir is a directory that the stores' user can reach (that of t.TempDir is closed to it), with a short path. It
// is removed at the test's end.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := makeDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func makeDir() (string, error) {
	removeAbandoned()
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return "", fmt.Errorf("stacktest: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // PostgreSQL's user must pass through.
		return "", fmt.Errorf("stacktest: %w", err)
	}
	return dir, nil
}

// removeAbandoned removes the directories of test processes that were killed. It is a courtesy: what it can't
// remove stays.
func removeAbandoned() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && time.Since(info.ModTime()) > staleAfter && !inUse(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

// inUse says whether a running stack holds the directory's lock.
func inUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
