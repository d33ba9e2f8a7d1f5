package fleet

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed preload/clock.c
var clockSource []byte

// errNoClock: the fleet's Redis reads the true clock.
var errNoClock = errors.New("fleet: without Config.RedisClock the clock of Redis can't be moved")

// clock is a wall clock that can be moved while a program reads it.
type clock struct{ library, file string }

// buildClock compiles the library that is preloaded, and sets the clock right.
func buildClock(ctx context.Context, dir string) (*clock, error) {
	if _, err := exec.LookPath("gcc"); err != nil {
		return nil, errors.New("fleet: RedisClock needs gcc: apt-get install gcc libc6-dev")
	}
	if err := makeDirs(dir); err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return nil, fmt.Errorf("fleet: clock: %w", err)
	}
	c := &clock{library: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "clock.ahead")}
	if err := output(ctx, nil, "gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", c.library, source); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if err := os.WriteFile(c.file, make([]byte, 8), 0o600); err != nil {
		return nil, fmt.Errorf("fleet: clock: %w", err)
	}
	// The stores' user reads both, whatever the umask.
	err := errors.Join(os.Chmod(c.library, 0o755), os.Chmod(c.file, 0o644)) //nolint:gosec // See above.
	if err != nil {
		return nil, fmt.Errorf("fleet: clock: %w", err)
	}
	return c, nil
}

// environment is what a program needs to read this clock.
func (c *clock) environment() []string {
	return []string{"LD_PRELOAD=" + c.library, "AISLE_CLOCK_FILE=" + c.file}
}

// set puts the clock so much ahead of the true one.
func (c *clock) set(ahead time.Duration) error {
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("fleet: move the clock: %w", err)
	}
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(ahead)) //nolint:gosec // A negative one arrives as it left.
	_, err = f.WriteAt(b[:], 0)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("fleet: move the clock: %w", err)
	}
	return nil
}

// MoveRedisClock puts the wall clock of Redis so much ahead of the true one (behind, if negative), at once, while it
// runs; 0 sets it right. It needs Config.RedisClock.
func (f *Fleet) MoveRedisClock(ahead time.Duration) error {
	if f.stores.clock == nil {
		return errNoClock
	}
	return f.stores.clock.set(ahead)
}
