package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// replicaGrace is how long a replica may drain before it is killed.
	replicaGrace = 11 * time.Second
	// The pause before a replica is started again: doubled each time, and the first one again once a replica
	// has lived for steadyAfter.
	firstRestart = 200 * time.Millisecond
	lastRestart  = 10 * time.Second
	steadyAfter  = 30 * time.Second
)

// replicaError: a replica ended by itself before it was ever ready. It has said why on standard error.
type replicaError struct{ number, code int }

func (e *replicaError) Error() string {
	return fmt.Sprintf("server %d ended with code %d before it was ready", e.number, e.code)
}

// replica is one child process of the supervisor, started again whenever it dies.
type replica struct {
	number   int // from 1
	program  string
	settings []string // its part of the environment
	family   *family
	logger   *slog.Logger
}

// keep runs the replica until ctx ends; then it lets it drain and returns nil. It gives up with a
// *replicaError when the replica refuses to start for the first time: its settings are wrong, or its port is
// taken. What was ready once is started again for ever.
func (r *replica) keep(ctx context.Context) error {
	wait, once := firstRestart, false
	for {
		started := time.Now()
		ready, err := r.runOnce(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // We ended it.
		}
		once = once || ready
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && !once && exit.Exited() {
			return &replicaError{number: r.number, code: exit.ExitCode()}
		}
		if time.Since(started) > steadyAfter {
			wait = firstRestart
		}
		r.logger.WarnContext(ctx, "a server ended and is started again", slog.Any("error", err), slog.Duration("in", wait))
		if !pause(ctx, wait) {
			return nil
		}
		wait = min(2*wait, lastRestart)
	}
}

// runOnce runs the process to its end, and says whether it was ready in between.
func (r *replica) runOnce(ctx context.Context) (ready bool, err error) {
	cmd := exec.Command(r.program, "serve") //nolint:gosec,noctx // Our own program; it is stopped by SIGTERM first.
	cmd.Env = append(os.Environ(), r.settings...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true,            // Ctrl-C reaches us alone; we stop the replicas before the stores
		Pdeathsig: syscall.SIGTERM, // and when we are killed, the kernel stops them
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return false, fmt.Errorf("start server %d: %w", r.number, err)
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go own(cmd, stdout, &ready, started, ended)
	if err := <-started; err != nil {
		return false, fmt.Errorf("start server %d: %w", r.number, err)
	}
	if err := r.family.born(r.number, cmd.Process.Pid); err != nil {
		r.logger.ErrorContext(ctx, "can't write down the process number", slog.Any("error", err))
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = r.end(cmd.Process, ended)
	}
	return ready, err
}

// own starts the process and waits for its end on one thread: the kernel sends the parent-death signal when the
// thread that forked ends.
func own(cmd *exec.Cmd, stdout io.Reader, ready *bool, started, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	*ready = passLines(stdout)
	ended <- cmd.Wait()
}

// passLines copies a replica's standard output to ours, and says whether it became ready.
func passLines(from io.Reader) (ready bool) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		ready = ready || strings.HasPrefix(lines.Text(), readyLine)
		fmt.Fprintln(os.Stdout, lines.Text())
	}
	return ready
}

// end asks the process to drain, and kills it when it takes too long.
func (r *replica) end(p *os.Process, ended <-chan error) error {
	_ = p.Signal(syscall.SIGTERM) // it may be gone already
	late := time.NewTimer(replicaGrace)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		r.logger.Warn("a server does not drain in time and is killed")
		_ = p.Kill()
		return <-ended
	}
}
