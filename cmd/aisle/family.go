package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// family remembers the replicas' processes in a file, so that the start after a kill -9 can end those that are
// left. A process is known by its number and its start time: numbers are given out again.
type family struct {
	path string

	mu       sync.Mutex
	children map[int]child // by replica
}

type child struct {
	PID int `json:"pid"`
	// Start is in the kernel's clock ticks since the machine started.
	Start uint64 `json:"start"`
}

func newFamily(path string) *family { return &family{path: path, children: map[int]child{}} }

// born writes a replica's new process down.
func (f *family) born(number, pid int) error {
	start, alive := startTime(pid)
	if !alive {
		return nil // it has ended already
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.children[number] = child{PID: pid, Start: start}
	b, err := json.Marshal(f.children)
	if err != nil {
		return fmt.Errorf("remember processes: %w", err)
	}
	tmp := f.path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("remember processes: %w", err)
	}
	if err := os.Rename(tmp, f.path); err != nil {
		return fmt.Errorf("remember processes: %w", err)
	}
	return nil
}

const (
	// leftoverGrace is how long a replica of a killed supervisor may take to drain. Its stores are gone: there
	// is little left for it to do.
	leftoverGrace = 2 * time.Second
	leftoverPoll  = 20 * time.Millisecond
)

// endLeftovers ends the replicas that a killed supervisor of the same directory left running. The caller holds
// the directory.
func (f *family) endLeftovers(ctx context.Context) error {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("processes of an earlier run: %w", err)
	}
	for _, c := range decodeFamily(b) {
		if err := c.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// decodeFamily reads the file. What can be no process of ours is left out: only a machine that stopped damages the file, and
// no process outlives that.
func decodeFamily(b []byte) map[int]child {
	var children map[int]child
	if err := json.Unmarshal(b, &children); err != nil {
		return nil
	}
	maps.DeleteFunc(children, func(_ int, c child) bool { return c.PID <= 1 || c.Start == 0 })
	return children
}

func (c child) running() bool {
	start, alive := startTime(c.PID)
	return alive && start == c.Start
}

func (c child) end(ctx context.Context) error {
	p, err := os.FindProcess(c.PID) // a handle: it can't turn into a stranger's
	if err != nil {
		return fmt.Errorf("process %d of an earlier run: %w", c.PID, err)
	}
	defer func() { _ = p.Release() }()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !c.running() {
			return nil
		}
		if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end process %d of an earlier run: %w", c.PID, err)
		}
		for late := time.Now().Add(leftoverGrace); c.running() && time.Now().Before(late); {
			if !pause(ctx, leftoverPoll) {
				return fmt.Errorf("end process %d of an earlier run: %w", c.PID, ctx.Err())
			}
		}
	}
	if c.running() {
		return fmt.Errorf("process %d of an earlier run does not end", c.PID)
	}
	return nil
}

// startTime reads when a process started; alive is false when there is none, or only what its parent has yet to
// collect.
func startTime(pid int) (start uint64, alive bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	return decodeStat(string(b))
}

// decodeStat reads a process's start time, and whether it is alive, of what the kernel says of it.
func decodeStat(text string) (start uint64, alive bool) {
	// The second field is the program's name in parentheses, which may contain anything.
	_, rest, ok := strings.Cut(text[strings.LastIndexByte(text, ')')+1:], " ")
	fields := strings.Fields(rest)
	const state, started = 0, 19 // of the fields after the name
	if !ok || len(fields) <= started || fields[state] == "Z" {
		return 0, false
	}
	start, err := strconv.ParseUint(fields[started], 10, 64)
	return start, err == nil
}
