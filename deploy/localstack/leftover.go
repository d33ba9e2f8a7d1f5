package localstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// pollEvery is how often we look again for something that sends no signal when it happens.
const pollEvery = 20 * time.Millisecond

// endLeftovers ends what a killed run left behind: each process whose program has that name and one of whose
// arguments is exactly mark (a path of ours). We hold the directory's lock, so nobody else may run one.
// It reports how many there were.
func endLeftovers(ctx context.Context, program, mark string, farewell syscall.Signal) (int, error) {
	pids, err := findProcesses(program, mark)
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if err := endLeftover(ctx, pid, program, mark, farewell); err != nil {
			return 0, err
		}
	}
	return len(pids), nil
}

func findProcesses(program, mark string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && pid != os.Getpid() && isProcess(pid, program, mark) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// isProcess says whether a process is running that program with that argument now.
func isProcess(pid int, program, mark string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	args := bytes.Split(bytes.TrimRight(b, "\x00"), []byte{0})
	if filepath.Base(string(args[0])) != program {
		return false
	}
	return slices.ContainsFunc(args[1:], func(a []byte) bool { return string(a) == mark })
}

// endLeftover ends one process: it asks, then kills after stopTimeout. The handle is taken before the second
// look, so that a process number that was given to a stranger in between is never signalled.
func endLeftover(ctx context.Context, pid int, program, mark string, farewell syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }()
	for _, sig := range []syscall.Signal{farewell, syscall.SIGKILL} {
		if !isProcess(pid, program, mark) {
			return nil
		}
		if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end process %d of a killed run: %w", pid, err)
		}
		gone := func() bool { return !isProcess(pid, program, mark) }
		if waitUntil(ctx, stopTimeout, gone) == nil {
			return nil
		}
	}
	return fmt.Errorf("process %d of a killed run does not end", pid)
}

// waitUntil looks every 20 ms whether ok, for the given time at most.
func waitUntil(ctx context.Context, limit time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s: %w", limit, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}
