package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the wait for a replica to be ready. It waits 10 s for PostgreSQL by itself.
	startTimeout = 30 * time.Second
	// stopTimeout bounds the wait for a replica to obey SIGTERM (15 s are promised) or SIGSTOP.
	stopTimeout = 20 * time.Second
)

// errNotRunning: there is no process to do that to.
var errNotRunning = errors.New("it is not running")

// Replica is one server of the product, as a process. Its methods may be called from several goroutines.
type Replica struct {
	// Number counts from 0.
	Number int
	// Name is for people and for the log file's name: replica-0.
	Name string

	program   string
	args, env []string
	logPath   string
	url, ops  string
	http      *http.Client
	links     map[Store]*Link
	inside    *namespace // nil without Config.Namespaces

	mu      sync.Mutex
	running *process // nil before the first start
	wanted  bool     // it was started and neither killed nor terminated since
	paused  bool
}

// URL is the public address: http://HOST:PORT.
func (r *Replica) URL() string { return r.url }

// OpsURL is the address of health checks and metrics: http://HOST:PORT.
func (r *Replica) OpsURL() string { return r.ops }

// Link is the way to a store; nil where there is none: to a Redis that is none or has several nodes.
func (r *Replica) Link(store Store) *Link { return r.links[store] }

// Start runs the process and waits until it is ready: until it can show maps.
func (r *Replica) Start(ctx context.Context) error {
	log, err := os.OpenFile(r.logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("fleet: start %s: %w", r.Name, err)
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("fleet: start %s: %w", r.Name, err)
	}
	p, err := r.launch(log)
	if err != nil {
		return fmt.Errorf("fleet: start %s: %w", r.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := r.waitReady(ctx, p); err != nil {
		return errors.Join(fmt.Errorf("fleet: start %s: %w: %s", r.Name, err, tail(r.logPath, info.Size())), p.kill())
	}
	return nil
}

// launch runs the process. Whoever asks about the replica while it gets ready does not wait.
func (r *Replica) launch(log *os.File) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil && !r.running.exited() {
		return nil, errors.New("it is running")
	}
	program, args := r.inside.wrap(r.program, r.args)
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // Our own arguments; Kill and Terminate end it.
	cmd.Env = r.env
	cmd.Stdout, cmd.Stderr = log, log
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	r.running, r.wanted, r.paused = p, true, false
	return p, nil
}

func (r *Replica) waitReady(ctx context.Context, running *process) error {
	err := until(ctx, func() bool { return running.exited() || r.Ready(ctx) })
	if running.exited() {
		return fmt.Errorf("it ended at once: %w", running.err)
	}
	if err != nil {
		return fmt.Errorf("it is not ready: %w", err)
	}
	return nil
}

// Ready says whether the replica says so.
func (r *Replica) Ready(ctx context.Context) bool {
	body, err := r.get(ctx, "/readyz")
	if err != nil {
		return false
	}
	return body.Close() == nil
}

// Alive says whether the process exists; one that is stopped by Pause does.
func (r *Replica) Alive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running != nil && !r.running.exited()
}

// answering says whether there is a process that is not paused.
func (r *Replica) answering() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running != nil && !r.running.exited() && !r.paused
}

// up says whether the replica was neither killed nor terminated; one that died by itself is up.
func (r *Replica) up() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// Kill is kill -9. It waits for the end.
func (r *Replica) Kill() error {
	p, err := r.process(func() { r.wanted = false })
	if err != nil {
		return fmt.Errorf("fleet: kill %s: %w", r.Name, err)
	}
	if err := p.kill(); err != nil {
		return fmt.Errorf("fleet: kill %s: %w", r.Name, err)
	}
	return nil
}

// Pause is kill -STOP. It waits until the process stands still.
func (r *Replica) Pause(ctx context.Context) error {
	p, err := r.process(func() { r.paused = true })
	if err == nil {
		err = p.signal(syscall.SIGSTOP)
	}
	if err != nil {
		return fmt.Errorf("fleet: pause %s: %w", r.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := until(ctx, func() bool { return p.exited() || p.stopped() }); err != nil {
		return fmt.Errorf("fleet: pause %s: it goes on: %w", r.Name, err)
	}
	return nil
}

// Resume is kill -CONT.
func (r *Replica) Resume() error {
	p, err := r.process(func() { r.paused = false })
	if err == nil {
		err = p.signal(syscall.SIGCONT)
	}
	if err != nil {
		return fmt.Errorf("fleet: resume %s: %w", r.Name, err)
	}
	return nil
}

// Terminate is kill -TERM. It waits for the end and returns the exit code, -1 when a signal ended it. After 20 s, or
// when ctx ends, it kills the process and says so.
func (r *Replica) Terminate(ctx context.Context) (exitCode int, err error) {
	p, err := r.process(func() { r.wanted = false })
	if err == nil {
		err = p.signal(syscall.SIGTERM)
	}
	if err != nil {
		return -1, fmt.Errorf("fleet: terminate %s: %w", r.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return -1, errors.Join(fmt.Errorf("fleet: terminate %s: it does not end: %w", r.Name, ctx.Err()), p.kill())
	}
}

// process returns what is running, and notes what is about to be done to it.
func (r *Replica) process(note func()) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	note()
	if r.running == nil || r.running.exited() {
		return nil, errNotRunning
	}
	return r.running, nil
}

// stop ends the process however it is.
func (r *Replica) stop() error {
	if err := r.Kill(); err != nil && !errors.Is(err, errNotRunning) {
		return err
	}
	return nil
}
