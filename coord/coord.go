package coord

import (
	"context"
	"errors"
)

// Coord is one replica's place in the house: its registration, its view of the others, its part in
// elections. It is safe for concurrent use.
type Coord struct{ cfg Config }

// New makes a Coord; it never waits for etcd. The error says what is wrong with the config.
func New(cfg Config) (*Coord, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Coord{cfg: cfg}, nil
}

// Run keeps the registration and the watches until ctx ends. Without etcd it keeps trying.
func (c *Coord) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Connected says whether etcd confirmed this replica's lease within its TTL.
func (c *Coord) Connected() bool { return false }

// Announce sets what the registry says of this replica. ID is Config.ID's, whatever is given.
func (c *Coord) Announce(r Replica) {}

// Replicas returns the registered replicas by id, as last seen.
func (c *Coord) Replicas() []Replica { return nil }

// ReplicasChanged returns a channel of its own for the caller, signalled (capacity 1) after every change.
func (c *Coord) ReplicasChanged() <-chan struct{} { return nil }

// Elect runs for the named office until ctx ends, and calls lead for each term won.
func (c *Coord) Elect(ctx context.Context, name string, lead func(term context.Context, t Term) error) error {
	<-ctx.Done()
	return errors.New("not yet")
}

// Leader returns the replica that holds the named office, as last seen.
func (c *Coord) Leader(name string) (id string, known bool) { return "", false }

// Summaries returns the lease-bound keys of the showings.
func (c *Coord) Summaries() *Summaries { return nil }
