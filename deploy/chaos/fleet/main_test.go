package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
)

// program is the path of the aisle that these tests run.
var program string

// A process of the tests with these variables is a driver, of a fleet in the one with the program in the other.
const (
	driverVariable  = "AISLE_FLEET_TEST_DRIVER"
	programVariable = "AISLE_FLEET_TEST_PROGRAM"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis' own, of each failed dial
	run := runTests
	if dir := os.Getenv(driverVariable); dir != "" {
		run = func(*testing.M) error { return drive(dir, os.Getenv(programVariable)) }
	}
	if err := run(m); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// drive runs a fleet until someone kills us.
func drive(dir, program string) error {
	f, err := fleet.Start(context.Background(), fleet.Config{Dir: dir, Binary: program, Replicas: 1, Redis: fleet.NoRedis})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "up")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return f.Stop(context.Background())
}

var errTests = errors.New("tests failed")

func runTests(m *testing.M) error {
	dir, err := os.MkdirTemp("", "aisle-fleet-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "aisle")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "github.com/aislehq/aisle/cmd/aisle")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build aisle: %w: %s", err, out)
	}
	if m.Run() != 0 {
		return errTests
	}
	return goleak.Find()
}
