package judge

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The instants of these tests are seconds after this one.
func instant(s float64) time.Time {
	return time.Date(2026, 11, 30, 19, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

// seen is a run of messages and looks at one showing's snapshot.
type seen struct {
	p *projected
	f findings
}

func newSeen() *seen { return &seen{p: newProjected(uuid.Nil)} }

func (s *seen) says(at float64, epoch, prev, seq int64) {
	s.p.hear(&s.f, message{delta: delta{Log: "k3f9", Epoch: epoch, Prev: prev, Seq: seq}, hash: uint64(epoch<<40 | prev<<20 | seq), at: instant(at)})
}

// finds is a look at a snapshot that has ttl seconds left.
func (s *seen) finds(at, ttl float64, epoch, round, seq int64) {
	s.p.look(&s.f, look{
		standing: standing{epoch: epoch, round: round, log: "k3f9", seq: seq},
		asked:    instant(at), answered: instant(at + 0.001), server: "server", ttl: time.Duration(ttl * float64(time.Second)),
	})
}

func (s *seen) misses(at float64) { s.p.missing(instant(at)) }

func TestProjected(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		run  func(s *seen)
		want string
	}{
		"one term, one event after the other, one of them joined, some not heard": {run: func(s *seen) {
			s.says(1, 7, 0, 3)
			s.says(2, 7, 3, 4)
			s.says(3, 7, 9, 12)
		}},
		"the same message once more": {run: func(s *seen) {
			s.says(1, 7, 0, 3)
			s.says(1.1, 7, 0, 3)
			s.says(1.2, 7, 3, 4)
		}},
		"the same message later": {run: func(s *seen) {
			s.says(1, 7, 0, 3)
			s.says(2, 7, 3, 4)
			s.says(3, 7, 0, 3)
		}, want: ProjectedOnce},
		"an event twice in one term": {run: func(s *seen) {
			s.says(1, 7, 0, 3)
			s.says(2, 7, 2, 4)
		}, want: ProjectedOnce},
		"a later term after the snapshot ended with the lease": {run: func(s *seen) {
			s.says(1, 7, 0, 30)
			s.finds(1.1, 2, 7, 0, 30)
			s.misses(3.2)
			s.says(3.3, 8, 0, 20)
			s.finds(3.4, 5, 8, 0, 20)
			s.says(3.5, 8, 20, 31)
			s.finds(3.6, 5, 8, 0, 31)
		}},
		"a later term after the snapshot ended between two looks": {run: func(s *seen) {
			s.says(1, 7, 0, 30)
			s.finds(1.1, 0.1, 7, 0, 30)
			s.says(1.25, 8, 0, 20)
			s.finds(1.3, 5, 8, 0, 20)
		}},
		"a later term begins again, with the snapshot there": {run: func(s *seen) {
			s.finds(0.5, 5, 7, 0, 29)
			s.says(1, 7, 29, 30)
			s.finds(1.1, 5, 7, 0, 30)
			s.says(2, 8, 0, 20)
			s.finds(2.1, 5, 8, 0, 31)
		}, want: ProjectedOnce},
		"a later term goes on": {run: func(s *seen) {
			s.finds(0.5, 5, 7, 0, 29)
			s.says(1, 7, 29, 30)
			s.finds(1.1, 5, 7, 0, 30)
			s.says(2, 8, 30, 31)
			s.finds(2.1, 5, 8, 0, 31)
		}},
		"an old leader writes, with the new one's snapshot there": {run: func(s *seen) {
			s.finds(0.5, 5, 7, 0, 29)
			s.says(1, 8, 29, 30)
			s.finds(1.1, 5, 8, 0, 30)
			s.says(2, 7, 29, 31)
			s.finds(2.1, 5, 8, 0, 31)
		}, want: NeverBack},
		"an old leader writes, with the new one's snapshot there since it made it": {run: func(s *seen) {
			s.misses(0.9)
			s.says(1, 8, 0, 30)
			s.says(1.05, 7, 29, 31)
			s.finds(1.1, 5, 8, 0, 30)
		}, want: NeverBack},
		"an old leader writes into an empty Redis": {run: func(s *seen) {
			s.finds(0.5, 5, 7, 0, 29)
			s.says(1, 8, 29, 30)
			s.finds(1.1, 5, 8, 0, 30)
			s.misses(1.2)
			s.says(2, 7, 29, 31)
			s.finds(2.1, 5, 7, 0, 31)
			s.finds(2.2, 5, 8, 0, 31)
		}},
		"a snapshot of an older seq": {run: func(s *seen) {
			s.finds(1, 5, 7, 0, 30)
			s.finds(1.2, 5, 7, 0, 29)
		}, want: NeverBack},
		"a snapshot of an older seq, in a later round": {run: func(s *seen) {
			s.finds(1, 5, 7, 0, 30)
			s.finds(1.2, 5, 7, 1, 29)
		}},
		"a snapshot of an earlier round": {run: func(s *seen) {
			s.finds(1, 5, 7, 1, 30)
			s.finds(1.2, 5, 7, 0, 31)
		}, want: NeverBack},
		"a snapshot of an earlier term": {run: func(s *seen) {
			s.finds(1, 5, 8, 0, 30)
			s.finds(1.2, 5, 7, 0, 31)
		}, want: NeverBack},
		"a snapshot of a later term and an older seq": {run: func(s *seen) {
			s.finds(1, 5, 7, 0, 30)
			s.finds(1.2, 5, 8, 0, 29)
		}, want: NeverBack},
		"a snapshot of an older seq, after it may have ended": {run: func(s *seen) {
			s.finds(1, 0.2, 7, 0, 30)
			s.finds(1.2, 5, 8, 0, 29)
		}},
		"signed by a later term": {run: func(s *seen) {
			s.finds(1, 5, 7, 3, 30)
			s.finds(1.2, 5, 8, 0, 30)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSeen()
			c.run(s)
			if c.want == "" {
				require.Empty(t, s.f.all())
				return
			}
			require.Len(t, s.f.all(), 1)
			require.Equal(t, c.want, s.f.all()[0].Invariant)
		})
	}
}

// A server that took over, or became a replica of another one, has another history.
func TestProjectedOnAnotherServer(t *testing.T) {
	t.Parallel()
	s := newSeen()
	s.finds(1, 5, 7, 0, 30)
	s.p.look(&s.f, look{
		standing: standing{epoch: 7, log: "k3f9", seq: 29}, asked: instant(1.2), answered: instant(1.3), server: "another", ttl: time.Second,
	})
	require.Empty(t, s.f.all())
}

// What is remembered of terms is bounded; the latest are kept.
func TestProjectedRemembersTheLatestTerms(t *testing.T) {
	t.Parallel()
	s := newSeen()
	for epoch := range int64(100) {
		s.says(float64(epoch), epoch+1, epoch*10, epoch*10+10)
	}
	require.Len(t, s.p.said, mostTerms)
	s.says(200, 100, 985, 995)
	require.Len(t, s.f.all(), 1)
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	var f findings
	for i := range 25 {
		f.add(NothingLost, "number %d", i)
	}
	f.add(NeverBack, "one")
	all := f.all()
	require.Len(t, all, mostDetails+2)
	require.Equal(t, Violation{NothingLost, "… and 5 more of these"}, all[len(all)-1])
}
