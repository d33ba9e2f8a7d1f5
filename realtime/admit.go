package realtime

import "maps"

// admit lets sockets into the room, which has just been brought to the map's present: each is given
// a snapshot, or what changed since it was here last, and is then exactly where everyone is.
//
// The map may move on while it is read for them. So what they are given is read first, then the
// whole room advances once more, and what that step brought is laid over what the newcomers get:
// a change that both hold has the later status in the step.
func (r *room) admit(joins []request) {
	var fresh []*conn
	resumed := make(map[int64][]*conn)
	deltas := make(map[int64]Delta)
	for _, q := range joins {
		switch r.judge(q, deltas) {
		case startFresh:
			fresh = append(fresh, q.conn)
		case startAhead:
			r.wait(q)
		case startResumed:
			resumed[q.resume.since] = append(resumed[q.resume.since], q.conn)
		}
	}
	if len(fresh) == 0 && len(resumed) == 0 {
		return
	}
	var snapshot encodedSnapshot
	if len(fresh) > 0 {
		snapshot = r.snapshot()
	}
	step, same := r.advance()
	if !same {
		snapshot = r.snapshotOfAll()
		for _, group := range resumed {
			fresh = append(fresh, group...)
		}
		clear(resumed)
	}
	r.startFresh(fresh, snapshot, step)
	for since, group := range resumed {
		r.startResumed(group, overlay(deltas[since], step))
	}
}

type start int

const (
	startFresh start = iota
	startAhead
	startResumed
)

// judge says how a socket starts, and keeps the delta for one that resumes: many come back from
// the same seq.
func (r *room) judge(q request, deltas map[int64]Delta) start {
	from := q.resume
	if from.log != r.log {
		return startFresh
	}
	if from.since > r.seq {
		return startAhead
	}
	if _, ok := deltas[from.since]; ok {
		return startResumed
	}
	d, ok := r.feed.Since(from.log, from.since)
	if !ok {
		return startFresh
	}
	deltas[from.since] = d
	return startResumed
}

// snapshotOfAll is the snapshot that restart just gave to everyone in the room.
func (r *room) snapshotOfAll() encodedSnapshot { return r.last }

// startFresh gives the snapshot and, where the room has moved on since it was taken, the rest.
func (r *room) startFresh(sockets []*conn, s encodedSnapshot, step Delta) {
	if len(sockets) == 0 {
		return
	}
	frames := []*frame{s.frame}
	if s.seq < r.seq {
		frames = append(frames, deltaFrame(r.showing, Delta{Prev: s.seq, Seq: r.seq, Seats: step.Seats}))
		r.count("delta", len(sockets))
	}
	if s.stale != r.stale {
		frames = append(frames, staleFrame(r.showing, r.stale))
		r.count("stale", len(sockets))
	}
	r.count("snapshot", len(sockets))
	r.enter(sockets, frames)
}

// startResumed gives one delta. It means that the map is not stale, unless a message says it is.
func (r *room) startResumed(sockets []*conn, d Delta) {
	frames := []*frame{deltaFrame(r.showing, d)}
	if r.stale {
		frames = append(frames, staleFrame(r.showing, true))
		r.count("stale", len(sockets))
	}
	r.count("delta", len(sockets))
	r.enter(sockets, frames)
}

func (r *room) enter(sockets []*conn, frames []*frame) {
	for _, c := range sockets {
		for _, f := range frames {
			c.send(f)
		}
		r.members[c] = struct{}{}
	}
}

// overlay joins two deltas of which the second reaches further and begins no later than the first
// ends.
func overlay(first, then Delta) Delta {
	if then.Seq <= first.Seq {
		return first
	}
	seats := maps.Clone(first.Seats)
	if seats == nil {
		seats = make(map[string]string, len(then.Seats))
	}
	maps.Copy(seats, then.Seats)
	return Delta{Prev: first.Prev, Seq: then.Seq, Stale: then.Stale, Seats: seats}
}
