package scenario

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

// followsWithin is how soon browsers see a sale without the leader, etcd or Redis, with a little for the asking.
const followsWithin = 2500 * time.Millisecond

// shows expects that each running replica shows a busy showing's seats, and whether it says that they may be old.
func (r *Run) shows(ctx context.Context, stale bool) {
	api := client.NewAPI()
	defer api.Close()
	for _, replica := range r.Fleet.Replicas() {
		if !replica.Alive() {
			continue
		}
		shown, err := api.Seats(ctx, replica.URL(), r.watched(), "")
		if err != nil {
			r.Expect(false, AsPromised, "%s does not show the seats: %v", replica.Name, err)
			continue
		}
		r.Expect(shown.Stale == stale, AsPromised, "%s shows the seats with stale %t, want %t", replica.Name, shown.Stale, stale)
	}
}

// watched is the showing that the first watcher looks at.
func (r *Run) watched() uuid.UUID { return r.watchers.Views()[0].Showing }

// sees expects the watchers to come to where the log now is.
func (r *Run) sees(ctx context.Context) {
	heads, err := r.heads(ctx)
	if err != nil {
		r.Expect(false, AsPromised, "the log's heads can't be read: %v", err)
		return
	}
	behind := 0
	err = r.Until(ctx, followsWithin, "all watchers", func() bool {
		behind = 0
		for _, view := range r.watchers.Views() {
			if view.Live && view.Seq < heads[view.Showing] {
				behind++
			}
		}
		return behind == 0
	})
	r.Expect(err == nil, AsPromised, "%d watchers do not follow the log within %v", behind, followsWithin)
}

// refuses expects each running replica to say that it can't sell now, and when to come again.
func (r *Run) refuses(ctx context.Context) {
	for _, replica := range r.Fleet.Replicas() {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, replica.URL()+"/api/v1/sessions", http.NoBody)
		if err != nil {
			r.Expect(false, AsPromised, "%s: %v", replica.Name, err)
			continue
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			r.Expect(false, AsPromised, "%s: %v", replica.Name, err)
			continue
		}
		_ = answer.Body.Close()
		r.Expect(answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "", AsPromised,
			"%s answers %s with Retry-After %q, want 503 and a time", replica.Name, answer.Status, answer.Header.Get("Retry-After"))
	}
}
