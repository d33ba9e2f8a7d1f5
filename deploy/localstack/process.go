package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// maxLog is the size in bytes past which a store's log file is put aside at its next start.
const maxLog = 8 << 20

// command says how to run a program of the stores.
type command struct {
	who     account
	program string
	args    []string
	env     []string // beyond what all stores see
	dir     string
	logPath string
	// farewell is the signal that asks the program to stop, and that the kernel sends it when we die, unless it is
	// expendable.
	farewell syscall.Signal
	// expendable programs are killed when we die: they have nothing to lose, and one that a test has stopped (SIGSTOP)
	// would never hear a farewell.
	expendable bool
}

// process is a running program of ours.
type process struct {
	cmd      *exec.Cmd
	farewell syscall.Signal
	done     chan struct{}
	err      error // how it ended; read after done
}

// environment is all that the stores see of ours: no PG* variable reaches PostgreSQL.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC"}
}

func (c command) attributes() *syscall.SysProcAttr {
	death := c.farewell
	if c.expendable {
		death = syscall.SIGKILL
	}
	return &syscall.SysProcAttr{
		Credential: c.who.credential,
		// A group of its own: Ctrl-C in the terminal reaches us alone, and we stop the stores in order.
		Setpgid:   true,
		Pdeathsig: death,
	}
}

// run starts the program and leaves it running.
func (c command) run() (*process, error) {
	log, err := openLog(c.logPath)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.program, c.args...) //nolint:gosec,noctx // Our own arguments; stop ends it, in order.
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, append(environment(), c.env...), c.attributes()
	cmd.Stdout, cmd.Stderr = log, log
	p := &process{cmd: cmd, farewell: c.farewell, done: make(chan struct{})}
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", c.program, err)
	}
	return p, nil
}

// own starts the program and waits for its end on one thread, because the kernel sends the parent-death
// signal when the thread that forked ends, not the process.
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

// exited says whether the program has ended.
func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the program to stop, and kills it when it has not within stopTimeout or when ctx ends.
func (p *process) stop(ctx context.Context) error {
	if p.exited() {
		return nil
	}
	if err := p.signal(p.farewell); err != nil {
		return err
	}
	late := time.NewTimer(stopTimeout)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-late.C:
	}
	return p.kill()
}

func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.cmd.Path, err)
	}
	return nil
}

// output runs a program to its end and returns what it printed as part of the error.
func (c command) output(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.program, c.args...) //nolint:gosec // Our own arguments.
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, environment(), c.attributes()
	// Not Pdeathsig: it would follow the thread that happens to run us now.
	cmd.SysProcAttr.Pdeathsig = 0
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", c.program, err, out)
	}
	return nil
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("log file: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	return f, nil
}

// tail returns what a log file has gained since it had the size from, at most 4 KiB of it.
func tail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.NewSectionReader(f, from, 4<<10))
	if err != nil {
		return ""
	}
	return string(b)
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
