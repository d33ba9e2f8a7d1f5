package coord

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

func quiet() Config {
	return Config{ID: "a", Endpoints: []string{"http://127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler)}.WithDefaults()
}

// What is remembered of summaries that etcd has no longer is bounded, and never hides one that it has.
func TestRememberedSummariesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSummaries(quiet())
	write := func(showing, body string) {
		s.set(showing, &mvccpb.KeyValue{Key: []byte(s.root + showing), Value: []byte(body)})
	}
	for i := range maxGone + 10 {
		showing := fmt.Sprint("s", i)
		write(showing, `{"left":1}`)
		s.drop(showing)
	}
	require.LessOrEqual(t, len(s.gone), maxGone)
	require.Empty(t, s.seen)
	last := fmt.Sprint("s", maxGone+9)
	got, ok := s.Get(last)
	require.True(t, ok)
	require.Equal(t, 1, got.Left)
	write(last, `{"left":2}`)
	got, _ = s.Get(last)
	require.Equal(t, 2, got.Left)
	s.reset(nil)
	got, ok = s.Get(last)
	require.True(t, ok, "a picture read anew forgets nothing either")
	require.Equal(t, 2, got.Left)
}

// The lease's certainty counts from the last confirmed question, less the margin, and ends with the session.
func TestRemaining(t *testing.T) {
	t.Parallel()
	s := &session{
		ttl: 10 * time.Second, margin: time.Second, born: time.Now().Add(-4 * time.Second),
		over: make(chan struct{}), idle: make(chan struct{}),
	}
	require.InDelta(t, 5, s.remaining().Seconds(), 0.5)
	s.asked.Store(int64(3 * time.Second))
	require.InDelta(t, 8, s.remaining().Seconds(), 0.5)
	require.True(t, s.enter())
	s.end()
	require.Zero(t, s.remaining())
	require.False(t, s.enter(), "nothing begins on a session that has ended")
	select {
	case <-s.idle:
		require.Fail(t, "a term still rests on it")
	default:
	}
	s.leave()
	<-s.idle
}
