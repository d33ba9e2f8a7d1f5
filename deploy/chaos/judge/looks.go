package judge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// scanned is how many keys a server is asked to go through at once.
const scanned = 1000

// find learns of the snapshots that are there. One whose showing has sent no message is found by this only.
func (o *Observer) find(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	// What can't be asked now is asked the next time.
	_ = o.eachServer(ctx, func(ctx context.Context, server *redis.Client) error {
		keys := server.Scan(ctx, 0, snapshotPattern(o.prefix), scanned).Iterator()
		for keys.Next(ctx) {
			if id, ok := showingOf(o.prefix, keys.Val(), "snapshot"); ok {
				o.mu.Lock()
				o.showing(id)
				o.mu.Unlock()
			}
		}
		return keys.Err()
	})
}

func (o *Observer) eachServer(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	switch client := o.client.(type) {
	case *redis.ClusterClient:
		return client.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, client)
	default:
		return fmt.Errorf("judge: a Redis client of type %T", o.client)
	}
}

// look looks at all known snapshots, each at the server that has it.
func (o *Observer) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	ids, resets := o.known()
	cluster, many := o.client.(*redis.ClusterClient)
	if !many {
		if server, ok := o.client.(*redis.Client); ok {
			o.lookAt(ctx, server, ids, resets)
		}
		return
	}
	at := map[*redis.Client][]uuid.UUID{}
	for _, id := range ids {
		server, err := cluster.MasterForKey(ctx, snapshotKey(o.prefix, id))
		if err != nil {
			return
		}
		at[server] = append(at[server], id)
	}
	for server, ids := range at {
		if !o.lookAt(ctx, server, ids, resets) {
			// It no longer has what it had: the next look asks who does.
			cluster.ReloadState(ctx)
		}
	}
}

// lookAt looks at snapshots on one server in one round trip; false when the server could not tell of them all.
func (o *Observer) lookAt(ctx context.Context, server *redis.Client, ids []uuid.UUID, resets int) bool {
	if len(ids) == 0 {
		return true
	}
	fields := snapshotFields()
	hashes := make([]*redis.SliceCmd, len(ids))
	lives := make([]*redis.DurationCmd, len(ids))
	asked := time.Now()
	pipe := server.Pipeline()
	before := identity(ctx, pipe)
	for i, id := range ids {
		hashes[i] = pipe.HMGet(ctx, snapshotKey(o.prefix, id), fields...)
		lives[i] = pipe.PTTL(ctx, snapshotKey(o.prefix, id))
	}
	after := identity(ctx, pipe)
	_, _ = pipe.Exec(ctx) // each answer has its own error
	answered := time.Now()
	name := before.name()
	if name == "" || name != after.name() {
		return false
	}
	whole := true
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.resets != resets {
		return true
	}
	for i, id := range ids {
		values, err := hashes[i].Result()
		ttl, lifeErr := lives[i].Result()
		switch {
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			o.showing(id).missing(answered)
		case err != nil || lifeErr != nil:
			whole = false
		default:
			o.looked(id, fields, values, look{asked: asked, answered: answered, server: name, ttl: ttl})
		}
	}
	return whole
}

// looked takes in what a look found; the caller holds o.mu.
func (o *Observer) looked(id uuid.UUID, names []string, values []any, now look) {
	fields := map[string]string{}
	for i, value := range values {
		if text, ok := value.(string); ok {
			fields[names[i]] = text
		}
	}
	at, err := decodeStanding(fields)
	if err != nil {
		o.showing(id).missing(now.answered)
		return
	}
	now.standing = at
	o.showing(id).look(&o.f, now)
}

// identityAnswer tells which server, and which history of its data, answered.
type identityAnswer struct{ server, replication *redis.StringCmd }

func identity(ctx context.Context, pipe redis.Pipeliner) identityAnswer {
	return identityAnswer{server: pipe.Info(ctx, "server"), replication: pipe.Info(ctx, "replication")}
}

// name is empty when the server didn't say. A server that became a replica has another history.
func (a identityAnswer) name() string {
	run, history := infoField(a.server.Val(), "run_id"), infoField(a.replication.Val(), "master_replid")
	if run == "" || history == "" {
		return ""
	}
	return run + "/" + history
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func timedOut(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}
