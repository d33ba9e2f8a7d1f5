// Package coord is how the replicas know of each other, through etcd: who is there, who leads, and what the leader
// says of each showing. Nothing that a customer does waits for it. Without etcd all goes on but leadership.
//
// # Keys
//
//	<prefix>/replicas/<id>                  a Replica as JSON; bound to the replica's lease
//	<prefix>/elections/<office>/<lease>     a ballot: the candidate's id; the oldest holds the office
//	<prefix>/showings/<id>                  a Summary as JSON; bound to the leader's lease
//
// # States
//
// A replica has one session at a time, which is one lease:
//
//	none ── granted ──▶ certain ── confirmed every fifth of the TTL ──▶ certain
//	  ▲                    │
//	  └── revoked ◀────────┴── not confirmed for TTL less a tenth, or etcd has lost it, or Run's context ended
//
// A candidature rests on one session:
//
//	stand (write the ballot) ──▶ wait until no older ballot is there ──▶ read the own ballot again ──▶ lead ──▶ withdraw
//
// and is over, in every state, when its session is. Elect then stands again with the next one.
//
// # Trust window
//
// etcd may give the office to someone else once the lease has ended, by its clock. The lease is certain from when a
// keepalive that was confirmed was sent (not from when its answer came), by this machine's monotonic clock, for the TTL that
// etcd granted less a tenth. A term's context ends with that certainty; Term.Remaining says how much of it is left. Mind
// that a lead which does not return soon after its context's end breaks this, and that a process which is stopped and
// goes on can't know it: whatever a leader writes elsewhere carries its epoch, and is refused there when a higher one was
// seen.
//
// etcd looks for leases that have ended twice a second, and grants at least one and a half election timeouts: one of 1 s
// lives 2.5 s at etcd's defaults. The default of 5 s is where that no longer matters.
//
// # Invariants
//
//   - At most one lead of an office runs, unless a process was stopped past its lease or its lead outlived its context.
//   - Epochs rise from term to term: an epoch is the create revision of the ballot. (They do not across an etcd that was
//     replaced by an empty one: what was written with the old epochs has to end by its own TTL first.)
//   - A summary is written only in a transaction that finds the writer's ballot, at most 100 in one and two of those a
//     second, and only when it differs from what etcd has.
//   - A replica that stops leaves nothing in etcd. It revokes its lease only when no lead is running any more, so the next
//     leader begins after this one has ended, and at once.
//   - What is known of others (replicas, leader, summaries) is as last seen. Connected says whether it can be trusted to be
//     the present.
//
// # Why the client library's own session and election are not used
//
// concurrency.Session tells when an answer to a keepalive came, not when the question left; Campaign can return without an
// error after its own lease has died; KeepAliveOnce asks again without a pause while etcd can't be reached.
//
// # Failures
//
//   - etcd is not there at the start, or goes away: New and Run don't mind. Terms end within their TTL, Connected turns
//     false, nobody leads. When it is back the replica is registered and stands again, with a new lease.
//   - The leader is cut off from etcd, and from nothing else: it stops before its lease can have ended. The next one
//     leads when etcd has seen the lease end.
//   - The waiter's lease dies while it waits: it finds its ballot gone, and does not lead by it.
//   - A watch breaks, or asks for a revision that was compacted: the present is read anew, and watched from there.
//   - The answer to a ballot or a summary is lost: the ballot is found by its key, the summary is written again.
//   - etcd is out of space: it raises its alarm and refuses to write. Leases that there are can still be kept; whoever loses
//     one gets no other, so in the end nobody leads. Alarmed tells, the log says what to do.
//   - etcd's history grows: let the server compact it (--auto-compaction-mode=periodic, as the etcd of one machine does),
//     or set Config.CompactEvery where etcd is Aisle's alone. Neither gives disk space back: that is 'etcdctl defrag'.
package coord
