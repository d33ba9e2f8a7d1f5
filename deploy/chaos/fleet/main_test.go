package fleet_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// program is the path of the aisle that these tests run.
//
//nolint:gochecknoglobals // A test process builds one, and testing.M has no place for it.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "aisle-fleet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// The stores' user passes through.
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // See above.
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "aisle")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "github.com/aislehq/aisle/cmd/aisle") //nolint:noctx // It ends.
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, errors.New(string(out))))
		return 1
	}
	logging.Disable() // of each failed dial
	code = m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
