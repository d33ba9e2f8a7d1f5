package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile starts a CPU profile of a row, when one is wanted; stop ends it.
func (c *runCommand) profile(row string) (stop func() error, err error) {
	if c.Profile == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(c.Profile, 0o750); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(c.Profile, row+".pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
