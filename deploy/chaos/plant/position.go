package plant

// position reads the log as logs with one numbered table are often read: events are numbered by a sequence, and what
// is new is what has a higher number than the last one seen. A number is given out when an event is written and is
// seen when its transaction commits; so whatever commits late is skipped, and nobody looks at its showing until the
// showing's next event.
//
// Each replica has one such position, for the projector and its live maps alike. Hints are what they are to such a
// reader, a wake-up; and it has no heads that it could compare a map with, to see that the log went back.
func position() Plant {
	return Plant{
		Name: "position",
		What: "new events are found by one position over a sequence",
		changes: []change{
			{
				file: "eventstore/migrations/00001_log.sql",
				old:  "    at       timestamptz NOT NULL,\n    PRIMARY KEY (stream, seq),",
				new:  "    at       timestamptz NOT NULL,\n    position bigserial UNIQUE,\n    PRIMARY KEY (stream, seq),",
			},
			{
				file: "eventstore/queries/heads_open.sql",
				old:  "SELECT log.id, log.now, s.id, s.head, s.event FROM log LEFT JOIN streams s ON s.open",
				new: "SELECT log.id, log.now, e.stream, e.seq, e.id, e.position FROM log\n" +
					"LEFT JOIN events e ON e.position > $1 ORDER BY e.position",
			},
			{
				file: "eventstore/store.go",
				old:  "	intake sync.RWMutex\n",
				new: "	intake sync.RWMutex\n" + `
	seen     sync.Mutex
	seenLog  string
	position int64
	seenTo   map[uuid.UUID]Position
`,
			},
			{file: "eventstore/read.go", old: "	\"fmt\"\n", new: "	\"fmt\"\n	\"slices\"\n"},
			{file: "eventstore/read.go", old: headsByHead, new: headsByPosition},
			{
				file: "eventstore/read.go",
				old:  "	err := row.Scan(&r.log, &r.now, &r.stream, &r.seq, &r.event)\n",
				new:  "	err := row.Scan(&r.log, &r.now, &r.stream, &r.seq, &r.event, &r.position)\n",
			},
			{
				file: "eventstore/read.go",
				old:  "type headRow struct {\n",
				new:  "type headRow struct {\n	position *int64\n",
			},
			{
				file: "eventstore/follower_heads.go",
				old:  "return p.Seq > head.Seq || (p.Seq == head.Seq && p.Event != head.Event)",
				new:  "return false",
			},
			{
				file: "eventstore/follower_run.go",
				old:  "		p.target = max(p.target, seq)\n",
				new:  "		_ = seq\n		select {\n		case r.lookNow <- struct{}{}:\n		default:\n		}\n",
			},
			{
				file: "booking/seatmap/check.go",
				old:  "case st.log != log, st.at.Seq > head.Seq, st.at.Seq == head.Seq && st.at != head:",
				new:  "case st.log != log:",
			},
			{
				file: "booking/seatmap/live.go",
				old:  "	if s := l.find(showing); s != nil {\n		l.expect(s, seq)\n	}\n",
				new:  "	if s := l.find(showing); s != nil && seq > 0 {\n		l.check()\n	}\n",
			},
		},
	}
}

const (
	headsByHead = `	sql, args := headsSQL, []any{streams}
	if streams == nil {
		sql, args = headsOpenSQL, nil
	}
	rows, err := collect(ctx, s, "heads", scanHead, sql, args...)
	if err != nil {
		return Heads{}, err
	}
	heads := Heads{Log: rows[0].log, Now: rows[0].now.UTC(), Positions: make(map[uuid.UUID]Position, len(rows))}
	for _, r := range rows {
		if r.seq != nil {
			heads.Positions[*r.stream] = Position{Seq: *r.seq, Event: *r.event}
		}
	}
`
	headsByPosition = `	s.seen.Lock()
	defer s.seen.Unlock()
	rows, err := collect(ctx, s, "heads", scanHead, headsOpenSQL, s.position)
	if err != nil {
		return Heads{}, err
	}
	if s.seenLog != rows[0].log {
		s.seenLog, s.position, s.seenTo = rows[0].log, 0, map[uuid.UUID]Position{}
		if rows, err = collect(ctx, s, "heads", scanHead, headsOpenSQL, s.position); err != nil {
			return Heads{}, err
		}
	}
	for _, r := range rows {
		if r.seq != nil {
			s.position, s.seenTo[*r.stream] = *r.position, Position{Seq: *r.seq, Event: *r.event}
		}
	}
	heads := Heads{Log: rows[0].log, Now: rows[0].now.UTC(), Positions: map[uuid.UUID]Position{}}
	for stream, at := range s.seenTo {
		if streams == nil || slices.Contains(streams, stream) {
			heads.Positions[stream] = at
		}
	}
`
)
