package seatmap

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/eventstore"
)

// standing is where a show stood before the log was asked.
type standing struct {
	show *show
	log  string
	at   eventstore.Position
}

// check asks for a comparison with the log's heads now.
func (l *Live) check() {
	select {
	case l.checkNow <- struct{}{}:
	default:
	}
}

// checkHeads compares all maps with the log's heads: every CheckEvery, and when a channel was subscribed to,
// since what was published before that is lost.
func (l *Live) checkHeads(ctx context.Context) error {
	ticker := time.NewTicker(l.cfg.CheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-l.checkNow:
		}
		l.compare(ctx)
	}
}

func (l *Live) compare(ctx context.Context) {
	standings := l.standings()
	if len(standings) == 0 {
		return
	}
	ids := make([]uuid.UUID, len(standings))
	for i, st := range standings {
		ids[i] = st.show.id
	}
	began := time.Now()
	heads, err := l.heads(ctx, ids)
	if err != nil {
		return
	}
	for _, st := range standings {
		l.judge(ctx, st, heads.Log, heads.Positions[st.show.id], began)
	}
}

// judge compares where a show stood before the heads were read with its head. Where it stands by now
// doesn't count: a delta may have taken it beyond.
func (l *Live) judge(ctx context.Context, st standing, log string, head eventstore.Position, asked time.Time) {
	switch {
	case st.log != log, st.at.Seq > head.Seq, st.at.Seq == head.Seq && st.at != head:
		l.rebuild(ctx, st.show)
	case st.at.Seq < head.Seq:
		if reached, _ := st.show.reached(head.Seq); !reached {
			l.queue.add(st.show)
			return
		}
		// Between the question and now it came to the head: by a delta that the projector made of the
		// log, so it is as good as verified.
		st.show.verified(asked)
	default:
		st.show.verified(asked)
	}
}

// rebuild starts a map anew after the log was replaced.
func (l *Live) rebuild(ctx context.Context, s *show) {
	if s.demandRebuild() {
		l.cfg.Logger.WarnContext(ctx, "seatmap: the log was replaced, the map is rebuilt",
			slog.String("showing", s.id.String()))
	}
	l.queue.add(s)
}

func (l *Live) standings() []standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	standings := make([]standing, 0, len(l.shows))
	for _, s := range l.shows {
		if log, at, loaded := s.position(); loaded {
			standings = append(standings, standing{show: s, log: log, at: at})
		}
	}
	return standings
}

// waitGraces asks the log for what was hinted at and didn't come by itself. All graces are equally long,
// so they end in the order in which they began.
func (l *Live) waitGraces(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case g := <-l.graces:
			if !pause(ctx, time.Until(g.over)) {
				return nil
			}
			if g.show.graceOver() {
				l.queue.add(g.show)
			}
		}
	}
}

// tend marks maps that grew stale, and drops those that nobody has had open for long.
func (l *Live) tend(ctx context.Context) error {
	ticker := time.NewTicker(min(l.cfg.StaleAfter, l.cfg.Linger) / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			l.tendOnce(now)
		}
	}
}

func (l *Live) tendOnce(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shows {
		s.age(now, l.cfg.StaleAfter)
		if since, idle := s.idle(); idle && now.Sub(since) > l.cfg.Linger {
			l.forget(s)
		}
	}
	l.makeRoom(l.cfg.MaxMaps)
}
