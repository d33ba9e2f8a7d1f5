package coord

import (
	"context"
	"log/slog"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Alarmed says whether etcd has raised its space alarm, as of the last look: it then refuses to write, and the
// house goes on without a leader once the leases have ended.
func (c *Coord) Alarmed() bool { return c.alarm.Load() }

// upkeep looks after etcd's store until ctx ends. It keeps history short: what is older than
// Config.CompactEvery is compacted, unless that is negative. Each replica does so, which is harmless: the
// later ones find it done.
func (c *Coord) upkeep(ctx context.Context, client *clientv3.Client) error {
	look := time.NewTicker(c.cfg.AlarmEvery)
	defer look.Stop()
	var compact <-chan time.Time
	if c.cfg.CompactEvery > 0 {
		ticker := time.NewTicker(c.cfg.CompactEvery)
		defer ticker.Stop()
		compact = ticker.C
	}
	c.lookForAlarm(ctx, client)
	var old int64 // the revision at the last round
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			c.lookForAlarm(ctx, client)
		case <-compact:
			old = c.compact(ctx, client, old)
		}
	}
}

func (c *Coord) lookForAlarm(ctx context.Context, client *clientv3.Client) {
	limit, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := client.AlarmList(limit)
	if err != nil {
		return
	}
	space := false
	for _, alarm := range answer.Alarms {
		space = space || alarm.Alarm == etcdserverpb.AlarmType_NOSPACE
	}
	was := c.alarm.Swap(space)
	switch {
	case space && !was:
		c.cfg.Logger.ErrorContext(ctx, "etcd is out of space and refuses to write: compact, defragment, then 'etcdctl alarm disarm'")
	case was && !space:
		c.cfg.Logger.InfoContext(ctx, "etcd writes again")
	}
}

// compact drops the history before old and returns the present revision.
func (c *Coord) compact(ctx context.Context, client *clientv3.Client, old int64) int64 {
	limit, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := client.Get(limit, c.registry.root+c.cfg.ID, clientv3.WithCountOnly())
	if err != nil {
		return old
	}
	if old > 0 {
		// Someone else may have compacted further, which is as good.
		if _, err := client.Compact(limit, old); err != nil {
			c.cfg.Logger.DebugContext(ctx, "etcd's history was not compacted", slog.Any("error", err))
		}
	}
	return answer.Header.Revision
}
