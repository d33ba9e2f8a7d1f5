// Package lock keeps the locks of seats in Redis, so that losers lose in microseconds and stay away from the
// data base. It never decides who has a seat: the log does, by its guard. A lock that vanishes, or lives too
// long, makes sales slower and never wrong.
//
// # Three sizes of lock
//
// A lock could cover a seat, a showing, or a cinema. The larger it is, the simpler is what runs under it, and the
// more people wait who have nothing to do with each other.
//
//   - Seat. Customers who want different seats never meet. Hold and AddSeats lock the seats they want, all or none, in
//     one script. Confirm, GiveBack, Release and Expire lock nothing: they change only what their booking has already,
//     and the guard of that booking's own chain settles who is first.
//   - Showing. For work that touches so many seats that no sale should run meanwhile: blocking or freeing rows, moving
//     bookings, changing prices or the layout, cancelling. LockShowing is one field beside the seats', so every
//     acquisition sees it in the read that it does anyway. It stops new seat locks and leaves those there are: whoever
//     has one is about to append, or holds the seat in the log already, and bulk work meets that in the log too.
//   - Cinema. There is none. It would be a key that all showings' scripts read, in another cluster slot than theirs,
//     and one hot key for the whole house. Work on a whole day or a whole house takes LockShowings, in the order of the
//     showings' ids, so that two of them never wait for each other's halves.
//
// # Layout
//
// One hash a showing, "<prefix>{<showing>}:locks" (Locker.Key). All of a showing's keys share the tag in braces and
// so a cluster slot; a script that also touches "<prefix>{<showing>}:…" never meets CROSSSLOT. Fields:
//
//	<seat code>   a seat's lock
//	*             the whole showing's lock
//	#             bookkeeping: <last token>|<the hash's end, ms since 1970>
//
// A lock's value is
//
//	<owner, a UUID of 36 characters>|<deadline, ms since 1970>|<id>=<token>,<id>=<token>,…
//
// with one id (a digest of Request.ID, 22 characters) for each acquisition of that owner. Whoever removes a lock of an
// owner that is known to have ended compares the first 36 characters of the value and deletes the field; the rest
// needs no care.
//
// The other layout, one key a seat with Redis' own expiry, was built and measured (BenchmarkLayout, each against the
// same script logic, taking turns on one server): acquiring took 1.15 times as long as with the hash for one seat, 1.2
// for two and 1.6 for four and for ten; 240 locks took 1.45 times the memory. It would also have several keys a
// script, which a Cluster answers with TRYAGAIN while their slot moves. What the hash costs is that a field does not
// expire by itself: its deadline is in its value, and judged by the script.
//
// # States of a seat's lock
//
//	free ── Acquire, Replace ──▶ held ── last acquisition released ──▶ free
//	                              │ ▲
//	              deadline passed │ └── Renew, Acquire by the owner: the deadline moves forward, never back
//	                              ▼
//	                             over: free for all, can't be renewed; its remains go with the next Acquire or
//	                             Release, and at the latest with the hash
//
// # Invariants
//
//   - All the seats of a request are locked, or none. Renew is all or none. Release ends what it finds and says when
//     something was missing.
//   - Only the owner renews and releases. Replace takes a seat from exactly the owner that was named.
//   - A script that runs twice for one request id counts once: the second run finds the id and gives back the first
//     run's token. So a lost reply may be retried, by the client or by the caller.
//   - Tokens of a showing rise with every acquisition and renewal: the next is the larger of the last plus one and the
//     clock in microseconds, so they rise across a hash that was deleted too. They order lock operations; the log
//     never judges by them.
//   - Deadlines are by Redis' clock, read inside the script. The hash's own expiry is never before its longest lock's
//     deadline, so nothing stays behind for ever.
//
// # What travels how
//
// Calls to one Redis server gather: while one pipeline is under way the next one fills, and leaves when the first is
// back. Nobody waits for company. A Cluster's servers each have a pipeline of their own, so that one that is slow or
// gone holds up only its own showings. Through it, 128 concurrent callers get at least what the same scripts reach in
// hand-made pipelines of 128, and five times what one caller gets (BenchmarkCalls). A call waits for
// Config.Timeout, its turn included; one whose caller is gone before it was sent never is.
//
// Scripts travel by name (EVALSHA); a server that does not know one is sent its text at once.
//
// # Failures
//
//   - The process dies between lock and append: the lock is over after its TTL.
//   - The owner comes back after its lock was over (paused, cut off): Renew and Release say ErrNotHeld. Neither brings
//     the lock back, nor touches what someone else has by then.
//   - The reply is lost: the client repeats the script; if that fails too the caller hears ErrUnavailable, and the lock may
//     exist for at most its TTL. Asking again with the same id is safe.
//   - Redis does not answer: calls end in ErrUnavailable after Config.Timeout; after three failures in a row at once,
//     but for a probe every Config.ProbeEvery. Callers go on without locks.
//   - Redis restarts empty, or a failover loses locks that were acknowledged: they are free, and their owners hear
//     ErrNotHeld. The log's guard still sells each seat once.
//   - Redis' clock jumps: forward, locks are over early; back, they live longer. A refusal that rests on such a lock is
//     undone by Replace once the log shows that the seat is free.
//   - SCRIPT FLUSH, resharding (MOVED, ASK), failover: followed, nobody notices beyond the time it takes. In a Cluster set
//     cluster-require-full-coverage to no: otherwise all showings lose their locks' help while one master is replaced.
package lock
