package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
)

// errNamespaces says what namespaces need.
var errNamespaces = errors.New("fleet: Namespaces need root and the program ip (apt-get install iproute2)")

// network is the replicas' network namespaces, and the bridge, which is our end of the line to each of them. A driver
// has one at a time. All its names carry the driver's process number.
type network struct {
	bridge     string
	address    string // ours on the bridge
	namespaces []*namespace
}

// namespace is one replica's: it reaches the bridge's address and nothing else.
type namespace struct {
	bridge  string
	name    string
	cable   string // our end
	address string
}

// Names of what we make, each followed by the process number, and then by a number of the replica's.
const (
	bridgePrefix    = "acb" // names of network devices have 15 letters at most
	cablePrefix     = "acv"
	namespacePrefix = "aisle-chaos-"
)

// ours is where all our addresses are from; a driver takes a /24 of it.
func ours() netip.Prefix { return netip.MustParsePrefix("10.213.0.0/16") }

// firstHost is the last byte of the first replica's address; the bridge's is 1.
const firstHost = 10

// openNetwork makes n namespaces, after removing those of drivers that were killed.
func openNetwork(ctx context.Context, n int) (*network, error) {
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		return nil, errNamespaces
	}
	if err := removeDeadNetworks(ctx); err != nil {
		return nil, err
	}
	third, err := freeSubnet()
	if err != nil {
		return nil, err
	}
	pid := strconv.Itoa(os.Getpid())
	host := func(last int) string { return fmt.Sprintf("10.213.%d.%d", third, last) }
	w := &network{bridge: bridgePrefix + pid, address: host(1)}
	for i := range n {
		number := strconv.Itoa(i)
		w.namespaces = append(w.namespaces, &namespace{
			bridge: w.bridge, name: namespacePrefix + pid + "-" + number, cable: cablePrefix + pid + "x" + number, address: host(firstHost + i),
		})
	}
	if err := w.make(ctx); err != nil {
		return nil, errors.Join(err, w.close(context.WithoutCancel(ctx)))
	}
	return w, nil
}

func (w *network) make(ctx context.Context) error {
	commands := [][]string{
		// Whatever is sent to our addresses while there is no bridge must not leave the machine.
		append([]string{"route", "add"}, guardRoute(os.Getpid())...),
		{"link", "add", w.bridge, "type", "bridge"},
		{"addr", "add", w.address + "/24", "dev", w.bridge},
		{"link", "set", w.bridge, "up"},
	}
	for _, n := range w.namespaces {
		commands = append(commands, [][]string{
			{"netns", "add", n.name},
			{"link", "add", n.cable, "type", "veth", "peer", "name", "eth0", "netns", n.name},
			{"link", "set", n.cable, "master", w.bridge, "up"},
			{"-netns", n.name, "addr", "add", n.address + "/24", "dev", "eth0"},
			{"-netns", n.name, "link", "set", "lo", "up"},
			{"-netns", n.name, "link", "set", "eth0", "up"},
		}...)
	}
	return ip(ctx, commands...)
}

// close removes whatever there is of it.
func (*network) close(ctx context.Context) error { return removeNetwork(ctx, os.Getpid()) }

// freeSubnet is the third byte of a /24 of ours that no driver uses.
func freeSubnet() (int, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return 0, fmt.Errorf("fleet: addresses in use: %w", err)
	}
	used := map[int]bool{}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Overlaps(ours()) && prefix.Addr().Is4() {
			used[int(prefix.Addr().As4()[2])] = true
		}
	}
	for i := range 256 {
		if third := (os.Getpid() + i) % 256; !used[third] {
			return third, nil
		}
	}
	return 0, fmt.Errorf("fleet: all of %s is in use", ours())
}

// ip runs commands of iproute2 up to the first that fails.
func ip(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		if err := output(ctx, nil, "ip", args...); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	return nil
}

// wrap returns the command that runs a program inside; as it is where there is no namespace.
func (n *namespace) wrap(program string, args []string) (inside string, all []string) {
	if n == nil {
		return program, args
	}
	return "ip", append([]string{"netns", "exec", n.name, program}, args...)
}

// Partition cuts the replica off from everyone, its stores, its peers and its clients: what they send each other
// vanishes. It needs Config.Namespaces.
func (r *Replica) Partition(ctx context.Context) error {
	if r.inside == nil {
		return errNoNamespaces
	}
	// Not "down", which both ends would notice.
	return ip(ctx, []string{"link", "set", r.inside.cable, "nomaster"})
}

// Rejoin undoes Partition.
func (r *Replica) Rejoin(ctx context.Context) error {
	if r.inside == nil {
		return errNoNamespaces
	}
	return ip(ctx, []string{"link", "set", r.inside.cable, "master", r.inside.bridge})
}

var errNoNamespaces = errors.New("fleet: without Config.Namespaces nothing can be partitioned")
