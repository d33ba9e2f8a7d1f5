package fleet

import (
	"context"

	"github.com/aislehq/aisle/deploy/localstack"
)

// Cluster is a Redis Cluster.
type Cluster struct{ nodes *localstack.Cluster }

func startCluster(ctx context.Context, dir string) (*Cluster, error) {
	nodes, err := localstack.StartCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Cluster{nodes: nodes}, nil
}
