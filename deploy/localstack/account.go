package localstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// account is the user that PostgreSQL and Redis run as.
type account struct {
	name       string
	credential *syscall.Credential // nil: as we are
}

// storeAccount is ourselves, or the user postgres where we are root.
func storeAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "the current user"}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return account{}, &MissingError{Program: "PostgreSQL's user postgres", Package: "postgresql"}
	}
	ids, err := u.GroupIds()
	if err != nil {
		return account{}, fmt.Errorf("localstack: groups of the user postgres: %w", err)
	}
	c := &syscall.Credential{}
	if c.Uid, err = parseID(u.Uid); err != nil {
		return account{}, err
	}
	if c.Gid, err = parseID(u.Gid); err != nil {
		return account{}, err
	}
	for _, id := range ids {
		gid, err := parseID(id)
		if err != nil {
			return account{}, err
		}
		c.Groups = append(c.Groups, gid)
	}
	return account{name: u.Username, credential: c}, nil
}

func parseID(s string) (uint32, error) {
	id, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("localstack: user or group id %q: %w", s, err)
	}
	return uint32(id), nil
}

// openDir makes the data directory and sees to it that the account can pass through it.
func (a account) openDir(dir string) error {
	if err := makeDirs(dir); err != nil {
		return fmt.Errorf("localstack: data directory: %w", err)
	}
	if a.credential == nil {
		return nil
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // The stores' user passes through; what lies inside is closed.
		return fmt.Errorf("localstack: data directory: %w", err)
	}
	for path := dir; path != "/"; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("localstack: data directory: %w", err)
		}
		if !a.canPass(info) {
			return fmt.Errorf("localstack: the user %s, as which the stores run, can't reach %s: %s is closed to it (chmod o+x, or choose another directory)", a.name, dir, path)
		}
	}
	return nil
}

// canPass says whether the account may enter a directory.
func (a account) canPass(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	switch {
	case stat.Uid == a.credential.Uid:
		return info.Mode()&0o100 != 0
	case stat.Gid == a.credential.Gid || slices.Contains(a.credential.Groups, stat.Gid):
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}

// makeDirs is os.MkdirAll whose new folders are open to pass through, whatever the umask.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // See openDir.
		return err
	}
	return os.Chmod(dir, 0o711) //nolint:gosec // See openDir.
}

// ownDir makes a directory that belongs to the account alone.
func (a account) ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return a.own(dir)
}

// own gives a file to the account.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	if err := os.Chown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, a.name, err)
	}
	return nil
}
