package coord

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// follower keeps a picture of the keys under a prefix. Its methods are called by one goroutine.
type follower interface {
	prefix() string
	// reset replaces the picture.
	reset(present []*mvccpb.KeyValue)
	// set and drop change it; the key is without the prefix.
	set(key string, kv *mvccpb.KeyValue)
	drop(key string)
}

// readTimeout bounds one read of etcd.
const readTimeout = 5 * time.Second

// follow keeps f's picture right until ctx ends. Whatever ends a watch (a lost connection, a compacted
// revision, an etcd without a leader), it reads the present anew and goes on from there.
func follow(ctx context.Context, client *clientv3.Client, f follower, cfg Config) error {
	pause := newPause(cfg.TTL)
	for ctx.Err() == nil {
		revision, err := readPresent(ctx, client, f)
		if err == nil {
			pause.reset()
			err = watch(ctx, client, f, revision+1)
		}
		if err != nil && ctx.Err() == nil {
			cfg.Logger.DebugContext(ctx, "a watch of etcd ended", slog.String("prefix", f.prefix()), slog.Any("error", err))
		}
		pause.wait(ctx)
	}
	return nil
}

func readPresent(ctx context.Context, client *clientv3.Client, f follower) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := client.Get(ctx, f.prefix(), clientv3.WithPrefix())
	if err != nil {
		return 0, err
	}
	f.reset(answer.Kvs)
	return answer.Header.Revision, nil
}

func watch(ctx context.Context, client *clientv3.Client, f follower, from int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for answer := range client.Watch(ctx, f.prefix(), clientv3.WithPrefix(), clientv3.WithRev(from)) {
		if err := answer.Err(); err != nil {
			return err
		}
		for _, event := range answer.Events {
			key := strings.TrimPrefix(string(event.Kv.Key), f.prefix())
			if event.Type == mvccpb.Event_DELETE {
				f.drop(key)
			} else {
				f.set(key, event.Kv)
			}
		}
	}
	return ctx.Err()
}
