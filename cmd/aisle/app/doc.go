// Package app wires one replica: the binary runs it, and so do the end-to-end tests.
//
// # States
//
// A replica is starting (its stores are being reached), ready, draining (asked to end: it takes no new
// requests, sends its sockets away, finishes what is under way) and gone.
//
// # What runs
//
// Two layers of goroutines, each in an errgroup. The inner one (stores.go, background.go) holds what the
// replica knows and does on its own account: append lanes, live maps, hints, the catalogue, etcd, and the
// leader's work while this replica leads. The outer one (front.go) is what clients see: two HTTP
// listeners and the hub. The front ends first, so that a request under way still finds its log; then the
// inner layer, of which the last thing to end is the append lanes.
//
// # Failures
//
// Without PostgreSQL a replica doesn't start. Without Redis or etcd it starts, says so in its log and in
// /readyz, and works as their packages describe: sales are guarded by the log alone, maps follow the log, and
// each replica ends the expired holds of the showings it watches. A part that ends with an error while the
// replica should run ends the replica: its supervisor starts a new one.
package app
