// Package booking is the domain: seats, bookings, the events that say what happened to them, and the
// Service that carries out commands.
//
// # States
//
// A seat is available, held, sold or blocked. A booking is a hold until it is confirmed (then its seats
// are sold), released by its owner, or expired; a confirmed one may later be refunded. A showing as of
// seq n is State after events 1 … n, and nothing else.
//
// # How a command is judged
//
//  1. The same command under way in this process is waited for, not repeated.
//  2. The picture: this replica's map, from memory. It may lag.
//  3. Hold and AddSeats lock their seats in Redis, all or none. A refusal is final when the map agrees
//     with it; this is how nearly all losers of a rush lose, and PostgreSQL isn't asked. Otherwise the log
//     decides.
//  4. One append: the events of the seats, of each hold that ran out and has seats which the command
//     takes, and of the booking. Each names the event it follows; the log refuses it if that isn't the latest.
//  5. A refused guard brings the present events, and the command is judged again from them, twice at most.
//     A refusal that rests on the map alone is checked against the log first.
//  6. The locks of what was taken live as long as the hold; those of what was freed end.
//
// # Invariants
//
//   - A seat has at most one live booking, and a booking's seats are exactly those whose latest event
//     names it. The log's guard sees to it, whatever maps, locks and clocks say.
//   - Every command extends its booking's own chain of events, so of two at once only one wins.
//   - A deadline is judged by the database's clock, within the append, and is exclusive. The hold's
//     end never moves: additions carry the first one.
//   - A session has at most one hold a showing. One that ran out is ended by the session's next.
//   - A command with a key is recorded with its append. Repeated, on any replica, it finds the booking as of
//     its first outcome; no refusal comes before that look, except where the map shows that there can be none.
//
// # What each failure does
//
//   - Redis is gone: the log alone guards; losers cost a round trip each.
//   - The map is gone or lags: the log is asked; nobody is refused a free seat.
//   - PostgreSQL is gone: ErrUnavailable, and nothing was done; or ErrOutcomeUnknown, and the same command
//     may be repeated.
//   - The process stops between lock and append: the locks end within Config.LockFor. After the append: the
//     hold stands, its locks are missing, and the log guards.
//   - The process is paused past a hold's end, or its clock is wrong: the log's clock answers, with
//     ErrHoldExpired. The local clock decides nothing: see dbClock.
package booking
