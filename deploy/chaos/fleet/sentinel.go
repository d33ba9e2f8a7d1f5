package fleet

import (
	"context"

	"github.com/aislehq/aisle/deploy/localstack"
)

// Sentinel is a Redis under Sentinel.
type Sentinel struct{ nodes *localstack.Sentinel }

func startSentinel(ctx context.Context, dir string) (*Sentinel, error) {
	nodes, err := localstack.StartSentinel(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Sentinel{nodes: nodes}, nil
}
