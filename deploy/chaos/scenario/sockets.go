package scenario

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

// shownOut is how soon whoever means no good must be gone.
const shownOut = 30 * time.Second

func sockets() []Scenario {
	return []Scenario{
		{Name: "watchers-deaf", What: "one socket in ten stops reading", Break: deaf},
		{Name: "sockets-hostile", What: "100 floods of pings, 100 oversized frames, 100 compressed bombs", Break: hostile},
	}
}

// deaf sockets are closed by the server, and nobody else notices.
func deaf(ctx context.Context, r *Run) error {
	showing, err := r.HotShowing(ctx)
	if err != nil {
		return err
	}
	return r.unnoticed(ctx, r.Config.Watchers/10, r.Config.Watchers/10, func(ctx context.Context, url string) (client.Ending, error) {
		return client.StopsReading(ctx, url, showing)
	}, func(client.Ending) bool { return true })
}

func hostile(ctx context.Context, r *Run) error {
	const each = 100
	if err := r.unnoticed(ctx, each, 20, client.PingFlood, func(e client.Ending) bool { return e.Code == 1008 }); err != nil {
		return err
	}
	tooLarge := func(e client.Ending) bool { return e.Code == 1009 }
	if err := r.unnoticed(ctx, each, 20, func(ctx context.Context, url string) (client.Ending, error) {
		return client.Oversized(ctx, url, 1<<20)
	}, tooLarge); err != nil {
		return err
	}
	return r.unnoticed(ctx, each, 20, func(ctx context.Context, url string) (client.Ending, error) {
		return client.Bomb(ctx, url, 1<<20)
	}, func(e client.Ending) bool { return e.Code != 0 }) // a compressed frame is refused unread: compression was not agreed on
}

// unnoticed has n guests do something, some at a time: each must be shown out as is right, and no watcher with them.
func (r *Run) unnoticed(ctx context.Context, n, atOnce int, do func(context.Context, string) (client.Ending, error), right func(client.Ending) bool) error {
	limited, cancel := context.WithTimeout(ctx, shownOut)
	defer cancel()
	before := r.watchers.Stats().Reconnects
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		url := r.Fleet.Replica(i % r.Config.Replicas).URL()
		group.Go(func() error {
			ending, err := do(limited, url)
			r.Expect(err == nil && right(ending), AsPromised, "a guest who means no good was shown out with %+v %v", ending, err)
			return nil
		})
	}
	err := group.Wait()
	others := r.watchers.Stats().Reconnects - before
	r.Expect(others == 0, AsPromised, "%d watchers were closed with those who mean no good", others)
	return err
}
