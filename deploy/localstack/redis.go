package localstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is the Redis of a Stack. The Stack's mutex guards it.
type redisServer struct {
	stack   *Stack
	dir     string
	running *process
	pinned  bool
}

func (r *redisServer) process() *process { return r.running }

func (r *redisServer) died() <-chan struct{} {
	if r.running == nil {
		return nil
	}
	return r.running.done
}

func (r *redisServer) stop(ctx context.Context) error {
	if r.running == nil {
		return nil
	}
	return r.running.stop(ctx)
}

func (r *redisServer) start(ctx context.Context) error {
	node := redisNode{
		who: r.stack.who, dir: r.dir, log: filepath.Join(r.stack.cfg.Dir, "redis.log"),
		args: func(int) []string { return r.stack.cfg.RedisArguments }, env: r.stack.cfg.RedisEnvironment,
	}
	if err := node.prepare(ctx); err != nil {
		return err
	}
	pick := func() (int, error) {
		if r.pinned {
			return r.stack.ports.get(portRedis), nil
		}
		return r.stack.ports.claim(ctx, portRedis)
	}
	running, _, err := node.launch(ctx, pick)
	if err != nil {
		return err
	}
	r.running, r.pinned = running, true
	return nil
}

// redisNode is one redis-server: alone, in a Cluster, under Sentinel, or a sentinel itself.
type redisNode struct {
	who  account
	dir  string
	log  string
	args func(port int) []string // beyond port, address and directory; nil for none
	env  []string                // beyond what all stores see
	// config is the path of a configuration file that the node rewrites itself, or empty.
	config string
}

// prepare ends what a killed run left and makes the directory.
func (n redisNode) prepare(ctx context.Context) error {
	if _, err := endLeftovers(ctx, "redis-server", n.dir, syscall.SIGTERM); err != nil {
		return err
	}
	return n.who.ownDir(n.dir)
}

// launch runs the server until it answers, on another port where someone took the picked one.
func (n redisNode) launch(ctx context.Context, pick func() (int, error)) (*process, int, error) {
	program, err := redisProgram("redis-server", "redis-server")
	if err != nil {
		return nil, 0, err
	}
	for {
		port, err := pick()
		if err != nil {
			return nil, 0, err
		}
		from := size(n.log)
		running, err := n.command(program, port).run()
		if err != nil {
			return nil, 0, err
		}
		err = n.waitReady(ctx, running, port)
		if err == nil {
			return running, port, nil
		}
		if !running.exited() {
			return nil, 0, errors.Join(err, running.kill())
		}
		said := strings.TrimSpace(tail(n.log, from))
		if !strings.Contains(said, "bind") || pause(ctx, pollEvery) != nil {
			return nil, 0, fmt.Errorf("%w: %s", err, said)
		}
	}
}

func (n redisNode) command(program string, port int) command {
	var args []string
	if n.config != "" {
		args = append(args, n.config)
	}
	args = append(args,
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", n.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
		"--set-proc-title", "no", // endLeftovers knows the process by its arguments
	)
	if n.args != nil {
		args = append(args, n.args(port)...)
	}
	return command{
		who: n.who, program: program, args: args, env: n.env, dir: n.dir, logPath: n.log,
		farewell: syscall.SIGTERM, expendable: true,
	}
}

// waitReady waits until this very process answers: on a port that someone else took, someone else would.
func (n redisNode) waitReady(ctx context.Context, running *process, port int) error {
	pid := "process_id:" + strconv.Itoa(running.cmd.Process.Pid) + "\r\n"
	for !listening(ctx, port) || !answersAs(ctx, port, pid) {
		if running.exited() {
			return errors.New("it ended at once")
		}
		if pause(ctx, pollEvery) != nil {
			return fmt.Errorf("it does not answer: %w", ctx.Err())
		}
	}
	return nil
}

// listening asks by a bare connection: go-redis would log each refusal, and wait a second after it.
func listening(ctx context.Context, port int) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func answersAs(ctx context.Context, port int, pid string) bool {
	client := redisClient(port)
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "server").Result()
	return err == nil && strings.Contains(info, pid)
}

// redisClient fails fast: its callers poll.
func redisClient(port int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:" + strconv.Itoa(port), MaxRetries: -1, DialerRetries: 1,
		DialTimeout: time.Second, ReadTimeout: time.Second, PoolSize: 1, DisableIdentity: true,
	})
}

// writeConfig writes a configuration file that the node may rewrite.
func (n redisNode) writeConfig(lines ...string) error {
	if err := os.WriteFile(n.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("redis configuration: %w", err)
	}
	return n.who.own(n.config)
}
