package localstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	postgresOwner    = "aisle"
	postgresDatabase = "aisle"
	// maxSocketPath is what a Unix socket's address holds (108 bytes with its end), less PostgreSQL's file name.
	maxSocketPath = 107 - len("/.s.PGSQL.65535.lock")
)

// postgresServer is the PostgreSQL of a Stack. The Stack's mutex guards it.
type postgresServer struct {
	stack     *Stack
	dir       string
	password  string
	socketDir string
	running   *process
	pinned    bool // clients know the port: a restart must use the same
}

func (p *postgresServer) process() *process { return p.running }

func (p *postgresServer) died() <-chan struct{} {
	if p.running == nil {
		return nil
	}
	return p.running.done
}

func (p *postgresServer) stop(ctx context.Context) error {
	if p.running == nil {
		return nil
	}
	return p.running.stop(ctx)
}

func (p *postgresServer) start(ctx context.Context) error {
	left, err := endLeftovers(ctx, "postgres", p.dir, syscall.SIGINT)
	if err != nil {
		return err
	}
	if left > 0 {
		p.stack.cfg.Logger.WarnContext(ctx, "ended the PostgreSQL of a killed run")
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	major, err := dataVersion(p.dir)
	if err != nil {
		return err
	}
	bin, err := postgresPrograms(major)
	if err != nil {
		return err
	}
	if err := p.launch(ctx, bin); err != nil {
		return err
	}
	p.pinned = true
	return p.createDatabase(ctx)
}

// newPostgres settles what stays the same over restarts: the password, and where the socket lies.
func newPostgres(s *Stack) (*postgresServer, error) {
	p := &postgresServer{stack: s, dir: filepath.Join(s.cfg.Dir, "postgres"), socketDir: filepath.Join(s.cfg.Dir, "run")}
	if len(p.socketDir) > maxSocketPath {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.dir))
		p.socketDir = filepath.Join(os.TempDir(), fmt.Sprintf("aisle-%x", h.Sum64()))
	}
	if !s.cfg.Services.Has(Postgres) {
		return p, nil
	}
	if err := p.loadPassword(); err != nil {
		return nil, err
	}
	return p, nil
}

// prepare makes what a start needs: the data directory, and an empty folder for the socket.
func (p *postgresServer) prepare(ctx context.Context) error {
	if _, err := os.Stat(p.dir); errors.Is(err, fs.ErrNotExist) {
		if err := p.initCluster(ctx); err != nil {
			return err
		}
	}
	if err := p.dropStrangersPID(); err != nil {
		return err
	}
	// Only we use this folder, and nothing of ours is running: sockets and their locks in it are stale.
	if err := removeStale(p.socketDir); err != nil {
		return err
	}
	return p.stack.who.ownDir(p.socketDir)
}

// loadPassword reads the owner's password. It is written before the data directory exists, so where the data
// exist without it someone removed it.
func (p *postgresServer) loadPassword() error {
	path := filepath.Join(p.stack.cfg.Dir, "password")
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("localstack: owner's password: %w", err)
	}
	if p.password = strings.TrimSpace(string(b)); p.password != "" {
		return nil
	}
	if _, err := os.Stat(p.dir); err == nil {
		return fmt.Errorf("localstack: owner's password: %s is gone or empty, but the data are there", path)
	}
	p.password = rand.Text()
	return writeFile(path, []byte(p.password+"\n"))
}

// initCluster makes the data directory: initdb into another name, then a rename, so that a kill in between
// leaves nothing that looks finished.
func (p *postgresServer) initCluster(ctx context.Context) error {
	bin, err := postgresPrograms(0)
	if err != nil {
		return err
	}
	half := p.dir + ".new"
	if err := removeStale(half); err != nil {
		return err
	}
	if err := p.stack.who.ownDir(half); err != nil {
		return err
	}
	passwordFile := half + ".password"
	defer func() { _ = os.Remove(passwordFile) }()
	if err := os.WriteFile(passwordFile, []byte(p.password), 0o600); err != nil {
		return fmt.Errorf("owner's password: %w", err)
	}
	if err := p.stack.who.own(passwordFile); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + half, "--username=" + postgresOwner, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8",
	}
	if p.stack.cfg.Volatile {
		args = append(args, "--no-sync")
	}
	initdb := command{who: p.stack.who, program: filepath.Join(bin, "initdb"), args: args, dir: half}
	if err := initdb.output(ctx); err != nil {
		return err
	}
	if err := os.Rename(half, p.dir); err != nil {
		return fmt.Errorf("put the data directory in place: %w", err)
	}
	return syncDir(p.stack.cfg.Dir)
}

// dropStrangersPID removes a postmaster.pid whose number now belongs to another program: PostgreSQL would take
// that for a postmaster and refuse to start. Our own postmaster, had one been left, has ended before this.
// The file of a dead process stays, because PostgreSQL checks by it that no backend of it is left.
func (p *postgresServer) dropStrangersPID() error {
	path := filepath.Join(p.dir, "postmaster.pid")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stale pid file: %w", err)
	}
	defer func() { _ = f.Close() }()
	pid := readPID(f)
	if pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return nil
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("stale pid file: %w", err)
	}
	return nil
}

// launch runs the server until it answers, on another port where someone took ours.
func (p *postgresServer) launch(ctx context.Context, bin string) error {
	logPath := filepath.Join(p.stack.cfg.Dir, "postgres.log")
	for {
		port := p.stack.ports.get(portPostgres)
		if !p.pinned {
			var err error
			if port, err = p.stack.ports.claim(ctx, portPostgres); err != nil {
				return err
			}
		}
		from := size(logPath)
		running, err := p.command(bin, port, logPath).run()
		if err != nil {
			return err
		}
		p.running = running
		err = p.waitReady(ctx)
		if err == nil {
			return nil
		}
		if !running.exited() {
			return errors.Join(err, running.kill())
		}
		said := tail(logPath, from)
		if !worthAnotherTry(said) || ctx.Err() != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(said))
		}
		if err := pause(ctx, 5*pollEvery); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(said))
		}
	}
}

// worthAnotherTry says whether PostgreSQL refused for a reason that passes: a port that was just taken, or
// backends of a killed postmaster that are still on their way out.
func worthAnotherTry(said string) bool {
	for _, reason := range []string{"could not bind", "could not create any TCP/IP sockets", "pre-existing shared memory block", "lock file"} {
		if strings.Contains(said, reason) {
			return true
		}
	}
	return false
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (p *postgresServer) command(bin string, port int, logPath string) command {
	settings := []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=" + p.socketDir,
		"max_connections=200", "timezone=UTC", "log_timezone=UTC", "jit=off", "cluster_name=aisle",
	}
	if p.stack.cfg.Volatile {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	settings = append(settings, p.stack.cfg.PostgresSettings...)
	args := []string{"-D", p.dir}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return command{
		who: p.stack.who, program: filepath.Join(bin, "postgres"), args: args, dir: p.dir, logPath: logPath,
		farewell: syscall.SIGINT, // fast shutdown
	}
}

func (p *postgresServer) waitReady(ctx context.Context) error {
	for {
		conn, err := p.connect(ctx)
		if err == nil {
			_ = conn.Close(ctx)
			return nil
		}
		if p.running.exited() {
			return errors.New("it ended at once")
		}
		if pause(ctx, pollEvery) != nil {
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

// connect opens a connection of the owner to the database that always exists, over the socket: whoever
// listens on the TCP port, the socket's folder is ours.
func (p *postgresServer) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	q := url.Values{"host": {p.socketDir}, "port": {strconv.Itoa(p.stack.ports.get(portPostgres))}}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(postgresOwner, p.password), Path: "/postgres", RawQuery: q.Encode()}
	return pgx.Connect(ctx, u.String())
}

func (p *postgresServer) createDatabase(ctx context.Context) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", postgresDatabase).Scan(&exists)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{postgresDatabase}.Sanitize()); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}
