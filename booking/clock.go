package booking

import (
	"sync"
	"time"
)

const (
	// clockDoubt is how far the estimate may be behind the database's clock: what is decided within it
	// of a deadline, the log decides.
	clockDoubt = time.Second
	// clockStale is after how long without news the estimate is taken again, so that two clocks that
	// run apart, or a database whose clock was set, are noticed.
	clockStale = time.Minute
)

// dbClock estimates the database's clock. News of it is old by the time it arrives, so the estimate is
// never ahead of the clock, and behind it by the way back at most. Between two pieces of news
// it runs with this process' monotonic clock: setting the machine's wall clock changes nothing.
type dbClock struct {
	mu   sync.Mutex
	then time.Time // the database's clock
	at   time.Time // when the news arrived, with the monotonic reading
}

// observe takes news of the database's clock. The latest estimate wins, as it travelled fastest.
func (c *dbClock) observe(now time.Time) {
	if now.IsZero() {
		return
	}
	arrived := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	age := arrived.Sub(c.at)
	if c.then.IsZero() || age > clockStale || now.After(c.then.Add(age)) {
		c.then, c.at = now, arrived
	}
}

// fresh says whether there was news lately.
func (c *dbClock) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.then.IsZero() && time.Since(c.at) <= clockStale
}

// now is the estimate; known is false as long as there was no news, and the local clock stands in.
func (c *dbClock) now() (now time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.then.IsZero() {
		return time.Now().UTC(), false
	}
	return c.then.Add(time.Since(c.at)).UTC(), true
}

// surelyBefore says that the deadline has not come yet, without a doubt.
func (c *dbClock) surelyBefore(deadline time.Time) bool {
	now, known := c.now()
	return known && now.Add(clockDoubt).Before(deadline)
}

// surelyPast says that the deadline has come: the estimate is never ahead of the clock.
func (c *dbClock) surelyPast(deadline time.Time) bool {
	now, known := c.now()
	return known && !now.Before(deadline)
}
