package scenario

import (
	"context"

	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// AsPromised is what a scenario expects beyond the judge's invariants: what the documents say of this very fault.
const AsPromised = "as promised"

// Invariants are those that every run is judged by, in the order of a table's columns.
func Invariants() []string { return append(judge.Invariants(), AsPromised) }

// Scenario is one fault.
type Scenario struct {
	// Name on the command line, such as redis-killed.
	Name string
	// What happens, in one line, for the table.
	What string
	// Row of the table "When something is gone" that a run of it shows; empty for none.
	Row string
	// Shifted says that it needs the server whose clock can be shifted.
	Shifted bool
	// SalesGoOn says that sales must, while the fault lasts, at a tenth of their pace at least.
	SalesGoOn bool
	// Short says that it is in the subset that `make test` runs.
	Short bool
	// Heavy says that the machine is loaded beyond what it can do, on purpose.
	Heavy bool
	// Set changes what the fleet is made of; nil for three replicas on one PostgreSQL, Redis and etcd.
	Set func(*fleet.Config)
	// Clients changes who buys and watches; nil for the usual.
	Clients func(*Config)
	// Break breaks and repairs. It returns when the last repair is done. What it expects of the product beyond the
	// invariants it says with Run.Expect; an error means that the fault itself could not be made.
	Break func(ctx context.Context, r *Run) error
}

// All scenarios, in the order in which they run.
func All() []Scenario {
	var all []Scenario
	for _, some := range [][]Scenario{
		processes(), leaders(), etcds(), redises(), topologies(), postgreses(), disks(), clocks(), sockets(), restores(), overloads(),
	} {
		all = append(all, some...)
	}
	return all
}

// Named finds a scenario.
func Named(name string) (Scenario, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}
