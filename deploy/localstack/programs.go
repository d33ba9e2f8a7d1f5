package localstack

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MissingError says that a program is not installed.
type MissingError struct {
	// Program that was looked for, and the Debian package that has it.
	Program, Package string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed: apt-get install %s", e.Program, e.Package)
}

// oldestPostgres is the first major version that we support.
const oldestPostgres = 15

// postgresPrograms is the directory of PostgreSQL's programs: of the wanted major version, or of the newest
// one when wanted is 0.
func postgresPrograms(wanted int) (string, error) {
	found := debianPostgres("/usr/lib/postgresql")
	if wanted == 0 {
		if len(found) > 0 {
			return found[0].bin, nil
		}
		if path, err := exec.LookPath("initdb"); err == nil {
			return filepath.Dir(path), nil
		}
		return "", &MissingError{Program: fmt.Sprintf("PostgreSQL %d or later", oldestPostgres), Package: "postgresql"}
	}
	for _, f := range found {
		if f.major == wanted {
			return f.bin, nil
		}
	}
	if len(found) == 0 {
		if path, err := exec.LookPath("postgres"); err == nil {
			return filepath.Dir(path), nil
		}
	}
	return "", &MissingError{
		Program: fmt.Sprintf("PostgreSQL %d, which made the data", wanted),
		Package: fmt.Sprintf("postgresql-%d", wanted),
	}
}

type postgresVersion struct {
	major int
	bin   string
}

// debianPostgres lists the versions that Debian's packages put under root, newest first.
func debianPostgres(root string) []postgresVersion {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var found []postgresVersion
	for _, e := range entries {
		major, err := strconv.Atoi(e.Name())
		bin := filepath.Join(root, e.Name(), "bin")
		if err != nil || major < oldestPostgres || !executable(filepath.Join(bin, "initdb")) {
			continue
		}
		found = append(found, postgresVersion{major, bin})
	}
	slices.SortFunc(found, func(a, b postgresVersion) int { return cmp.Compare(b.major, a.major) })
	return found
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// redisProgram finds redis-server or redis-cli.
func redisProgram(name, debianPackage string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &MissingError{Program: name, Package: debianPackage}
	}
	return path, nil
}

// dataVersion reads the major version that made a PostgreSQL data directory.
func dataVersion(dir string) (int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err != nil {
		return 0, fmt.Errorf("version of the data: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("version of the data: %w", err)
	}
	return major, nil
}
