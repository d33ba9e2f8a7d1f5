package rows

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
)

// ReadyLine is what a server prints before its address once it answers.
const ReadyLine = "aisle: listening on "

const (
	// startWithin is how long a server may take to be ready, stopWithin how long to end.
	startWithin = 30 * time.Second
	stopWithin  = 15 * time.Second
)

// server is a child process that answers by HTTP.
type server struct {
	cmd *exec.Cmd
	// address is host:port. took is from its start to the line that says it is ready.
	address string
	took    time.Duration
}

// startServer runs a program until it says that it is ready.
func startServer(ctx context.Context, env []string, program string, args ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, program, args...)} //nolint:gosec // Our own programs.
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), env...), os.Stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopWithin
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go announced(out, ready)
	select {
	case url, ok := <-ready:
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s ended before it was ready", program), s.cmd.Wait())
		}
		s.took, s.address = time.Since(began), strings.TrimPrefix(url, "http://")
		return s, nil
	case <-time.After(startWithin):
		return nil, errors.Join(fmt.Errorf("%s isn't ready after %s", program, startWithin), s.stop())
	}
}

// announced sends the address of the ready line, and reads on so that the program never waits for its reader.
func announced(out io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), ReadyLine); ok {
			ready <- url
		}
	}
	close(ready)
}

// stop ends the server and waits for it.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(stopWithin, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	err := s.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return nil // by our signal
	}
	return err
}

// used is the processor time that it has used so far.
func (s *server) used() (time.Duration, error) { return measure.ProcessCPU(s.cmd.Process.Pid) }

// serveAisle starts one replica on a database, without limits that only people need.
func (b *Bench) serveAisle(ctx context.Context, url, namespace string) (*server, error) {
	env := []string{"AISLE_POSTGRES_URL=" + url, "AISLE_REDIS_URL=" + b.Stores.RedisURL(), "AISLE_ETCD_ENDPOINTS=" + strings.Join(b.Stores.EtcdEndpoints(), ",")}
	return startServer(ctx, env, b.Binary, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--namespace", namespace,
		"--command-rate", "0", "--session-rate", "0", "--hold-for", rivals.HoldFor.String(), "--log-level", "warn")
}

// serveRival starts a rival's server: this program again.
func (b *Bench) serveRival(ctx context.Context, url, design string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, nil, self, "rival", design, "--postgres-url", url, "--redis-url", b.Stores.RedisURL())
}
