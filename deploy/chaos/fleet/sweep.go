package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// namespaceDir is where iproute2 keeps its namespaces' names.
const namespaceDir = "/run/netns"

// removeDeadNetworks removes the networks of drivers that are no longer there, and what carries our own number: a
// driver that had it before us.
func removeDeadNetworks(ctx context.Context) error {
	dead := map[int]bool{}
	names, err := namespaceNames()
	if err != nil {
		return err
	}
	for _, name := range names {
		markDead(dead, name, namespacePrefix)
	}
	devices, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("fleet: networks of killed drivers: %w", err)
	}
	for _, d := range devices {
		markDead(dead, d.Name, bridgePrefix)
		markDead(dead, d.Name, cablePrefix)
	}
	routes, err := routeOwners(ctx)
	if err != nil {
		return err
	}
	for _, pid := range routes {
		markDead(dead, bridgePrefix+pid, bridgePrefix)
	}
	for pid := range dead {
		if err := removeNetwork(ctx, pid); err != nil {
			return err
		}
	}
	return nil
}

// markDead notes the driver that a name is of, if it is gone.
func markDead(dead map[int]bool, name, prefix string) {
	if pid, ok := owner(name, prefix); ok && (pid == os.Getpid() || !alive(pid)) {
		dead[pid] = true
	}
}

// owner is the process number after a prefix.
func owner(name, prefix string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rest)
	}
	pid, err := strconv.Atoi(rest[:digits])
	return pid, err == nil
}

// removeNetwork removes the devices, the namespaces and the route of a driver, whichever of them there are.
func removeNetwork(ctx context.Context, pid int) error {
	devices, devicesErr := devicesOf(pid)
	names, namesErr := namespaceNames()
	routes, routesErr := routeOwners(ctx)
	errs := []error{devicesErr, namesErr, routesErr}
	for _, d := range devices { // a cable takes its other end with it
		errs = append(errs, ip(ctx, []string{"link", "del", d}))
	}
	for _, name := range names {
		if p, ok := owner(name, namespacePrefix); ok && p == pid {
			errs = append(errs, ip(ctx, []string{"netns", "del", name}))
		}
	}
	if slices.Contains(routes, strconv.Itoa(pid)) {
		errs = append(errs, ip(ctx, append([]string{"route", "del"}, guardRoute(pid)...)))
	}
	return errors.Join(errs...)
}

// guardRoute is a driver's route to nowhere, known by its metric.
func guardRoute(pid int) []string {
	return []string{"unreachable", ours().String(), "metric", strconv.Itoa(pid)}
}

// devicesOf are the bridge and the cables of a driver.
func devicesOf(pid int) ([]string, error) {
	devices, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("fleet: network devices: %w", err)
	}
	var names []string
	for _, d := range devices {
		for _, prefix := range []string{bridgePrefix, cablePrefix} {
			if p, ok := owner(d.Name, prefix); ok && p == pid {
				names = append(names, d.Name)
			}
		}
	}
	return names, nil
}

func namespaceNames() ([]string, error) {
	entries, err := os.ReadDir(namespaceDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: network namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// routeOwners are the process numbers of the drivers that have a route.
func routeOwners(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "ip", "route", "show", "type", "unreachable", "exact", ours().String()).CombinedOutput() //nolint:gosec // Our own arguments.
	if err != nil {
		return nil, fmt.Errorf("fleet: routes: %w: %s", err, out)
	}
	var pids []string
	for line := range strings.Lines(string(out)) {
		_, metric, ok := strings.Cut(line, "metric ")
		if fields := strings.Fields(metric); ok && len(fields) > 0 {
			pids = append(pids, fields[0])
		}
	}
	return pids, nil
}
