package booking

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheEstimateRunsOnFromTheLatestNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		var c dbClock
		local, known := c.now()
		require.False(t, known)
		require.True(t, local.Equal(time.Now()), "the local clock stands in")
		require.False(t, c.surelyBefore(time.Now().Add(time.Hour)), "nothing is sure before there is news")
		require.False(t, c.fresh())

		ahead := time.Now().Add(time.Hour)
		c.observe(ahead)
		c.observe(time.Time{})
		require.True(t, c.fresh())
		<-time.After(10 * time.Second)
		now, known := c.now()
		require.True(t, known)
		require.True(t, now.Equal(ahead.Add(10*time.Second)))

		c.observe(ahead.Add(9 * time.Second))
		now, _ = c.now()
		require.True(t, now.Equal(ahead.Add(10*time.Second)), "news that travelled slowly changes nothing")
		c.observe(ahead.Add(11 * time.Second))
		now, _ = c.now()
		require.True(t, now.Equal(ahead.Add(11*time.Second)))

		require.True(t, c.surelyBefore(now.Add(clockDoubt+time.Millisecond)))
		require.False(t, c.surelyBefore(now.Add(clockDoubt)), "within the doubt the log decides")
		require.True(t, c.surelyPast(now), "a deadline is exclusive")
		require.False(t, c.surelyPast(now.Add(time.Nanosecond)))

		<-time.After(2 * clockStale)
		require.False(t, c.fresh())
		c.observe(ahead)
		now, _ = c.now()
		require.True(t, now.Equal(ahead), "after a while also a clock that was set back is believed")
	})
}
