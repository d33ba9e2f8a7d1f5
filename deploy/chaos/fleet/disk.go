package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/aislehq/aisle/deploy/localstack"
)

// diskPrefix stands before the driver's process number in the names of our mounts.
const diskPrefix = "aisle-chaos-"

// errNoDisk: the store has no disk of its own.
var errNoDisk = errors.New("fleet: the store has no disk of its own")

// disk is a small file system in memory, with the data of one store.
type disk struct{ dir string }

// mountDisk mounts a disk of so many bytes.
func mountDisk(dir string, size int64) (*disk, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("fleet: PostgresDisk and RedisDisk need root")
	}
	if err := makeDirs(dir); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("size=%d,mode=0755", size)
	if err := syscall.Mount(diskPrefix+strconv.Itoa(os.Getpid()), dir, "tmpfs", 0, options); err != nil {
		return nil, fmt.Errorf("fleet: mount a disk at %s: %w", dir, err)
	}
	return &disk{dir: dir}, nil
}

// removeDeadDisks unmounts the disks of drivers that are no longer there, and what one left where we want to mount.
func removeDeadDisks(wanted string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("fleet: disks of killed drivers: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		dir, pid, ok := parseMount(lines.Text())
		if !ok || (alive(pid) && dir != wanted) {
			continue
		}
		if alive(pid) && pid != os.Getpid() {
			return fmt.Errorf("fleet: %s is in use by the driver %d", dir, pid)
		}
		if err := (&disk{dir: dir}).unmount(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// parseMount reads a line of mountinfo; false where the mount is not ours.
//
//	ID PARENT DEVICE ROOT DIR OPTIONS [OPTIONAL…] - TYPE SOURCE …
func parseMount(line string) (dir string, pid int, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if len(left) < 5 || len(right) < 2 {
		return "", 0, false
	}
	pid, ok = owner(right[1], diskPrefix)
	return unescape.Replace(left[4]), pid, ok
}

// unescape undoes what the kernel does to a path in mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`) //nolint:gochecknoglobals // Constant.

// unmount removes the disk, at the latest when the last file on it is closed.
func (d *disk) unmount() error {
	err := syscall.Unmount(d.dir, 0)
	if errors.Is(err, syscall.EBUSY) {
		err = syscall.Unmount(d.dir, syscall.MNT_DETACH)
	}
	if err != nil {
		return fmt.Errorf("fleet: unmount %s: %w", d.dir, err)
	}
	return nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all that is free.
func (d *disk) fill() error {
	f, err := os.OpenFile(d.ballast(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	// The second size takes what is too small for the first.
	for _, size := range []int{1 << 20, 1 << 12} {
		piece := make([]byte, size)
		for err == nil {
			_, err = f.Write(piece)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		err = nil
	}
	return nil
}

// FillDisk fills the disk of a store to the last byte. What the store frees afterwards is free.
func (f *Fleet) FillDisk(store Store) error {
	d := f.stores.disks[store]
	if d == nil {
		return errNoDisk
	}
	if err := d.fill(); err != nil {
		return fmt.Errorf("fleet: fill the disk of %s: %w", store, err)
	}
	return nil
}

// FreeDisk undoes FillDisk, starts a store that could not live with it again, and waits until it answers.
func (f *Fleet) FreeDisk(ctx context.Context, store Store) error {
	d := f.stores.disks[store]
	if d == nil {
		return errNoDisk
	}
	if err := os.Remove(d.ballast()); err != nil {
		return fmt.Errorf("fleet: free the disk of %s: %w", store, err)
	}
	answers, restart := f.postgresAnswers, f.revivePostgres
	if store == Redis {
		answers, restart = f.redisAnswers, f.reviveRedis
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var failed error
	err := until(ctx, func() bool {
		failed = restart(ctx)
		return failed != nil || answers(ctx)
	})
	if err := errors.Join(failed, err); err != nil {
		return fmt.Errorf("fleet: %s after its disk was freed: %w", store, err)
	}
	return nil
}

func (f *Fleet) postgresAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, opsTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, f.Postgres())
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}

// revivePostgres starts a PostgreSQL that ended by itself.
func (f *Fleet) revivePostgres(ctx context.Context) error {
	if f.stores.postgres.Running(localstack.Postgres) {
		return nil
	}
	return f.RestartPostgres(ctx)
}

// redisAnswers says whether Redis takes writes again.
func (f *Fleet) redisAnswers(ctx context.Context) bool {
	info, err := f.stores.client.Info(ctx, "persistence").Result()
	return err == nil && strings.Contains(info, "aof_last_write_status:ok")
}

func (f *Fleet) reviveRedis(ctx context.Context) error {
	if f.stores.redis.Running(localstack.Redis) {
		return nil
	}
	return errors.Join(f.stores.redis.StopRedis(ctx), f.stores.redis.StartRedis(ctx))
}
