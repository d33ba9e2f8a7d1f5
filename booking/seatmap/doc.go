// Package seatmap shows showings' seats. On the leader, Projector makes snapshots and deltas of the log's
// events; on each replica, Live keeps the maps that someone looks at, and Hinter tells that there are
// new events. The log is what counts: everything here is made of it, and can be made again.
//
//	command ─▶ log ─▶ Follower ─▶ Projector ─▶ Redis: snapshot, delta ─▶ Live ─▶ maps
//	   └─ Hinter ─▶ Redis: hint ─────┴──────────────────────────────────▶ Live ─┘   (asks the log itself
//	                                                                                when no delta comes)
//
// # In Redis
//
//	<prefix>{<showing>}:snapshot  hash: format, epoch, round, log, seq, event, taken, deadline, state
//	<prefix>{<showing>}:delta     channel: log, epoch, prev, seq and the events prev+1 … seq
//	<prefix>bookings              channel: log and bookings' own events, of all showings
//	<prefix>hints                 channel: showing and seq
//
// # Invariants
//
//   - A snapshot is booking.State after the events 1 … seq of a log: a function of (log, seq). Who wrote
//     it, and when, makes no difference.
//   - A map is right for its (log, seq), whatever way it came there. Its state is only ever taken one
//     event further, by the event that follows; repeats are known by seq, gaps are read from the log.
//   - Snapshot and deltas together miss nothing and repeat nothing: Since(log, seq) is the statuses of
//     the seats whose latest event is after seq. It is made of the state, so there is no list of past deltas that
//     could be too short, and a seq from another replica is as good as one's own.
//   - A snapshot in Redis is trusted only against the log's head: the same log, and the log has the event
//     at its seq. Where a map reads on from the log, it reads the event that it stands on once more.
//   - Nothing is lost for longer than Live's CheckEvery: all maps are compared with the log's heads, in
//     one query, whatever messages came. It also happens whenever a channel was subscribed to: first the
//     subscription, then the comparison, so nothing falls in between.
//   - A map is stale when it was not known to be the log's head at any time in the last StaleAfter.
//   - Each booking's change is told once and in order, though it is heard of in several ways.
//
// # The leader's terms
//
// A write is one script: the fence, the snapshot with what is left of the lease as its time to live, the
// locks that were set free, the messages. The fence is the term's epoch, stored in the snapshot: a lower
// one is refused, and whoever is refused ends its term (ErrSuperseded). An older seq of the same log is
// refused too, but for one case: the log went back. Then the term's round, which counts how often it has
// met another log or a snapshot that can't be, goes up; writes are ordered by (epoch, round, seq).
//
// A term begins with the snapshots that are there: they are the follower's cursors. Its end, the context's,
// ends all work at once; the snapshots end with their time to live unless the next leader signs them
// by its refresh.
//
// # When something fails
//
//   - The leader is gone: replicas follow the log on hints, after a grace in which the delta would have come,
//     and by comparing heads.
//   - An old leader was stopped and goes on: refused by the epoch, no message goes out. With Redis empty
//     its write is accepted and right, and the leader's next refresh signs it.
//   - Redis is gone: maps follow the log, at most CheckEvery behind. The projector goes on in memory, for
//     the summaries and the sweeps; what it couldn't write is written by the first refresh that works.
//     Sessions on replicas that don't follow a showing don't hear of their bookings there meanwhile.
//   - Redis lost keys, or has rubbish in them: the next refresh writes them anew; maps use the log.
//   - A line to Redis is lost: made anew, and the maps are compared with the heads.
//   - PostgreSQL is gone: maps stay as they are and become stale. A map that isn't here comes from its snapshot,
//     stale; without one Open fails with the log's error.
//   - The log was restored: seen by the log's id, by a head behind a map, or by another event at a map's
//     seq. The map is rebuilt, and Since refuses what was told before. Only a client that comes from
//     another replica with a seq of the lost history, under the same log id, can't be told apart.
//   - An event can't be read (this version is too old, or a bug): the showing stands still, stale, and
//     says so in the log; the others go on.
//
// # Bounds
//
// Live keeps at most MaxMaps maps and those that are open; the projector at most MaxStates states. Work
// on a map is queued once, however often it is asked for. Hints, graces, and what was told are bounded;
// what doesn't fit is found by comparing heads.
package seatmap
