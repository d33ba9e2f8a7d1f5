package judge

import (
	"time"

	"github.com/google/uuid"
)

// mostTerms is how many terms' messages a showing remembers: those of the latest.
const mostTerms = 8

// projected is what was seen of one showing in Redis: by the messages, and by looks at its snapshot.
type projected struct {
	showing uuid.UUID

	// said is the last message of each term.
	said map[term]message
	// top is the last message of the latest term.
	top message

	// seen is the snapshot at the last look that found one; nil when there was none.
	seen *look
	// looks counts those that found one.
	looks int
	// since is when it was last not certain that the snapshot is there without a break.
	since time.Time
	// suspects are messages that are wrong if the snapshot was there all the time.
	suspects []suspect
}

// term is a leader's, on one log.
type term struct {
	log   string
	epoch int64
}

// message is a delta, and when it was heard.
type message struct {
	delta
	// hash is its text's: the same for the very same message only.
	hash uint64
	at   time.Time
}

// look is one at a snapshot: asked for and answered at, by a server and its history, with what it had left to live.
type look struct {
	standing
	asked, answered time.Time
	server          string
	ttl             time.Duration
}

// suspect is a message that came after another one which should have been the last of its kind.
type suspect struct {
	invariant   string
	late, after message
}

func newProjected(showing uuid.UUID) *projected {
	return &projected{showing: showing, said: map[term]message{}}
}

// hear takes in a message.
func (p *projected) hear(f *findings, m message) {
	of := term{m.Log, m.Epoch}
	// A term goes through the log once. Only the very same message may come again, right after itself: the write
	// whose answer was lost is run once more.
	if last, ok := p.said[of]; ok && m.Prev < last.Seq && m.hash != last.hash {
		f.add(ProjectedOnce, "showing %s: epoch %d published %d–%d of log %s after %d–%d",
			p.showing, m.Epoch, m.Prev+1, m.Seq, m.Log, last.Prev+1, last.Seq)
	}
	p.said[of] = m
	if len(p.said) > mostTerms {
		p.forgetTerm()
	}
	switch {
	case m.Epoch < p.top.Epoch:
		p.suspect(suspect{NeverBack, m, p.top})
	case m.Epoch > p.top.Epoch && m.Log == p.top.Log && m.Seq < p.top.Seq:
		p.suspect(suspect{ProjectedOnce, m, p.top})
		p.top = m
	default:
		p.top = m
	}
}

func (p *projected) suspect(s suspect) {
	if len(p.suspects) < mostDetails {
		p.suspects = append(p.suspects, s)
	}
}

// forgetTerm forgets the earliest one.
func (p *projected) forgetTerm() {
	var earliest term
	first := true
	for t := range p.said {
		if first || t.epoch < earliest.epoch {
			earliest, first = t, false
		}
	}
	delete(p.said, earliest)
}

// missing takes in a look that found no snapshot, or none that can be read.
func (p *projected) missing(answered time.Time) {
	p.seen, p.since = nil, answered
	p.suspects = nil
}

// look takes in a look that found one.
func (p *projected) look(f *findings, now look) {
	was := p.seen
	p.seen = &now
	p.looks++
	switch {
	case was == nil && !p.since.IsZero():
		// It was made since the look that missed it.
	case was == nil, was.server != now.server, !now.answered.Before(was.asked.Add(was.ttl)):
		// It may have ended and been made anew, at any time until now.
		p.since = now.answered
	case back(was.standing, now.standing):
		f.add(NeverBack, "showing %s: the snapshot went from %s back to %s", p.showing, was.standing, now.standing)
	}
	p.resolve(f, now.asked)
}

// back says whether a snapshot that has been there all the time went back: to an earlier term, to an earlier round of
// the same term, or within a round to another log or an older seq. A later term may not bring an older seq
// either, but by a later round: that has seen the log go back.
func back(was, now standing) bool {
	switch {
	case now.epoch != was.epoch:
		return now.epoch < was.epoch || (now.round == 0 && now.log == was.log && now.seq < was.seq)
	case now.round != was.round:
		return now.round < was.round
	default:
		return now.log != was.log || now.seq < was.seq
	}
}

// resolve judges the messages that came before a look, which found the snapshot there.
func (p *projected) resolve(f *findings, asked time.Time) {
	var rest []suspect
	for _, s := range p.suspects {
		switch {
		case !s.late.at.Before(asked):
			rest = append(rest, s)
		case p.since.Before(s.after.at):
			f.add(s.invariant, "showing %s: epoch %d published %d–%d after epoch %d had published %d–%d, at %s and %s",
				p.showing, s.late.Epoch, s.late.Prev+1, s.late.Seq, s.after.Epoch, s.after.Prev+1, s.after.Seq, clock(s.late.at), clock(s.after.at))
		}
	}
	p.suspects = rest
}
