package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollEvery is how often we look again for something that sends no signal when it happens.
const pollEvery = 20 * time.Millisecond

// process is a program that we started and that dies with us.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; read after done
}

// launch starts cmd in a process group of its own and leaves it running.
func launch(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true, // Ctrl-C in the terminal reaches us alone
		Pdeathsig: syscall.SIGKILL,
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	return p, nil
}

// own starts the program and waits for its end on one thread, because the kernel sends the parent-death signal when
// the thread that forked ends, not the process.
func (p *process) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal does nothing to a process that has ended.
func (p *process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", sig, err)
	}
	return nil
}

func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// stopped says whether all of the process stands still after SIGSTOP.
func (p *process) stopped() bool {
	tasks := fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid)
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if state(tasks+"/"+e.Name()+"/stat") != "T" {
			return false
		}
	}
	return true
}

// state reads a process' or a thread's state letter; empty when there is none.
func state(stat string) string {
	b, err := os.ReadFile(stat)
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, which may contain anything.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// alive says whether a process number belongs to a process.
func alive(pid int) bool {
	s := state("/proc/" + strconv.Itoa(pid) + "/stat")
	return s != "" && s != "Z" && s != "X"
}

// output runs a program to its end. What it printed is part of the error.
func output(ctx context.Context, env []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // Our own arguments.
	cmd.Env = append(environment(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// environment is all that our programs see of ours.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC"}
}

// tail returns the last 2 KiB that a log file has gained since it had the size from.
func tail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const most = 2 << 10
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-most)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// until looks every 20 ms whether ok, until ctx ends.
func until(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
