package api

import (
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// roomPerPlace is how many commands may wait for each one that is worked on.
	roomPerPlace = 4
	// patience is how long a command waits at most: whoever waits longer is better off asking another replica.
	patience = time.Second
	// crowdedFor is what a refused client is told to wait.
	crowdedFor = time.Second
)

// gate lets as many commands in as a replica can work on at once, lets a few more wait, and refuses the rest before
// anything was done for them: work that is begun is finished in bounded time, however many come. Reading passes by it:
// maps are in memory, and are shown when commands get stuck on a store.
type gate struct {
	places  chan struct{}
	waiting atomic.Int64
	room    int64
}

// newGate returns nil, which lets everybody in, for 0 places.
func newGate(places int) *gate {
	if places == 0 {
		return nil
	}
	return &gate{places: make(chan struct{}, places), room: int64(places) * roomPerPlace}
}

// enter says whether the command may be worked on; then leave must follow.
func (g *gate) enter(r *http.Request) bool {
	select {
	case g.places <- struct{}{}:
		return true
	default:
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.room {
		return false
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case g.places <- struct{}{}:
		return true
	case <-timer.C:
		return false
	case <-r.Context().Done():
		return false
	}
}

func (g *gate) leave() { <-g.places }

func (g *gate) middleware(next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		if !g.enter(r) {
			crowded().write(w)
			return
		}
		defer g.leave()
		next.ServeHTTP(w, r)
	})
}

func crowded() *problem {
	return newProblem(kindUnavailable, "Too many people at once; nothing was done.").retryAfter(crowdedFor)
}
