// Package auth keeps sessions: who a request speaks for.
//
// A session is an id and a token. The token is 256 random bits that only its owner has; PostgreSQL keeps
// its SHA-256. A session is started, then used until it is ended by its owner or was unused for
// Config.IdleFor.
//
// # What a replica believes
//
// Each replica remembers what PostgreSQL said about a token, yes or no, for Config.CacheFor (5 s at most).
// So a session that was ended on another replica may still be taken for that long; on the replica
// that ended it, it is over at once. Sockets outlive requests: Run asks every few seconds, in one query, which
// of the sessions with open sockets are over, and hands those to its caller, who closes them.
//
// # What each failure does
//
//   - PostgreSQL is gone: a session that this replica has known within Config.StaleFor is taken as it was; any
//     other token, and starting or ending a session, is ErrUnavailable. After a failed query no other is tried for
//     a second, so that nobody waits for a database that is known to be away. Sockets stay open: only the
//     database's own word closes one.
//   - Somebody sends made-up tokens: one that can't be a token is refused without a look; one that
//     PostgreSQL doesn't know is remembered as unknown; at most Config.MaxLookups queries run at once, so a
//     flood can't take the pool from those who buy. Both memories are bounded.
package auth
