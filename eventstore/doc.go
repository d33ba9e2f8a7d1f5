// Package eventstore is the log of what happened: streams of numbered events in PostgreSQL, appended under a
// guard, read in order, and followed.
//
// # What it promises
//
// A stream's events are numbered 1, 2, 3 … without a gap (Seq), and that order is commit order. An event names the
// one thing that it changes (Entity) and the Seq of that thing's event before it (Prev): an append passes only if
// each Prev is the entity's latest. With the events, in the same transaction, go the command that caused them, so that a
// retry finds the first outcome (commands), and who holds what where (bookings).
//
// Invariants, each with what stands behind it should this package be wrong:
//
//   - one event at a (Stream, Seq): the primary key of events
//   - one event after each event of an entity: UNIQUE (stream, entity, prev)
//   - one outcome a (session, key): the primary key of commands
//   - one hold a (stream, session): a partial unique index on bookings
//   - events don't change: a trigger against everybody, and the application's role may only read; it
//     writes through functions that run as the tables' owner
//
// # Append
//
// A request waits in its lane's queue, then is taken into a flush, then has its answer. While one flush is under way the
// next batch gathers; nobody waits for a batch to fill. A flush is one call of append_batch, which is one round
// trip, one transaction and one commit for all of its requests; functions/append_batch.sql tells its steps. A stream
// has always the same lane, so that a replica never waits for itself.
//
// The function locks the batch's streams before it looks at anything, in sorted order, and hands out Seq from the
// locked row. The clock is the database's, read under those locks: whoever passes a check before a deadline has its
// event in the log before anybody can pass the check from that deadline on. (clock_timestamp() may step
// back with the machine's clock; the guard doesn't depend on it.)
//
// Go plans, SQL judges. newPlan tells which requests of a batch share something, and append_batch judges those that don't
// all at once and the others in arrival order. Should the plan ever be wrong, a constraint fails, the
// batch rolls back, and its requests are judged one by one.
//
// What each failure does:
//
//   - a request is refused: nothing of it is kept, its neighbours are not touched
//   - the database refuses the batch (a constraint, bad data, a deadlock with somebody's manual lock): rolled back; each request
//     is judged alone, so that one caller's fault stays that caller's
//   - the queue is full: ErrOverloaded, at once
//   - no connection in time, a full disk, a read-only server, a lock or statement that takes too long: ErrUnavailable; nothing was done
//   - the server says that it ends the connection: the commands are looked up on another connection, after the streams'
//     rows are locked once; found: the recorded outcome; not found: ErrUnavailable, for the server's process is gone
//   - the connection breaks or stays silent: the same look-up; not found: ErrOutcomeUnknown, for the statement may still
//     be on its way. It is never sent again from here. Without a command there is nothing to look up: ErrOutcomeUnknown
//   - the caller's context ends: its error while the request is queued (it will not be sent), ErrOutcomeUnknown later
//   - Run's context ends: no new requests; what is queued is flushed, for at most AppendTimeout
//
// A connection is held for one statement and never while waiting for another one, so a small pool is slow, not stuck.
//
// # Why there is no global position
//
// A position over all streams would have to be handed out before the commit, by a sequence, and transactions don't
// commit in that order: a reader at position 7 that sees 9 and not yet 8 goes on from 9, and 8, which commits a
// moment later, is never read. Waiting for the oldest running transaction (xid8 < pg_snapshot_xmin) closes that hole and opens
// another: any long transaction, of any database on the server, holds up all readers; and it still skips when the
// position was drawn before the xid. Numbering everything from one row would be right, and
// would make all showings wait for each other. So a reader's place is a Position a stream: within one stream the row
// lock makes order of number and order of commit the same, and a reader can't skip.
//
// # The log's id
//
// Seq says nothing across a restore: the same number may be another event. So the log has an id (LogID), which log_id renews when the
// tables find themselves elsewhere: another cluster, timeline, database or table. Dump and restore, point-in-time recovery
// and a promoted standby are noticed by the next Heads. The id stays through restarts and crashes. Copying a stopped server's
// files back over it leaves no trace that SQL can see; for that a Position carries the id of the event at its Seq.
//
// # Follower
//
// A Follower delivers every event of its streams, in order in each, at least once. Per stream it has a position
// (what was delivered) and a target (what is said to exist); a stream whose position is below its target is ready, one
// worker at a time delivers one batch, and it goes to the end of the line. Targets come from Hint, which may be
// late, lost or wrong, and from comparing all heads once a Poll, in one query.
//
// Each read begins with the event at the position. When that is not the one that was delivered, when a position is past the head, or
// when the log's id changes, the handler is told to forget (Reset) and gets events from Seq 1.
//
// What each failure does:
//
//   - the handler fails: the same events again, after a pause that doubles; other streams go on
//   - the handler never returns: that stream stands still and one worker is gone; the others go on
//   - Cursors can't be read: the streams that are new wait; those that run go on
//   - Cursors can't be written, or the process dies: events of at most the last Save come again
//   - the database is gone: everything stands still and goes on from its position
//
// # Migrations
//
// The tables of the whole product are in migrations, for goose; a migration only ever adds, so that replicas of two versions
// work side by side. The log's functions are in functions, one a file, and Migrate puts each in place whose text differs from what is
// there (a hash in its comment): their history is the repository's, and no migration repeats them. A function whose parameters change gets
// a new name, for replicas of the version before still call the old one. Everything lives in the
// first schema of the search path; a function keeps the path it was made under, with temporary tables last. One advisory lock
// covers migrations, functions and grants, so that any number of processes may migrate at once.
package eventstore
