package localstack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// BusyError says that another process runs the stores of this directory.
type BusyError struct {
	Dir string
	// PID of the other, as it wrote it down; 0 when unknown.
	PID int
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("localstack: %s is in use by another process (pid %d)", e.Dir, e.PID)
}

// dirLock is held by the one Stack of a directory. The kernel frees it when its process ends, however it ends.
type dirLock struct{ file *os.File }

func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("localstack: lock the directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := readPID(f)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &BusyError{Dir: dir, PID: holder}
		}
		return nil, fmt.Errorf("localstack: lock the directory: %w", err)
	}
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := errors.Join(f.Truncate(0), second(f.WriteAt([]byte(pid), 0))); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("localstack: lock the directory: %w", err)
	}
	return &dirLock{file: f}, nil
}

func second(_ int, err error) error { return err }

func readPID(r io.Reader) int {
	b, err := io.ReadAll(io.LimitReader(r, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("localstack: unlock the directory: %w", err)
	}
	return nil
}
