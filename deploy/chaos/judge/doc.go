// Package judge says whether a run of the servers kept their promises. It knows nothing of their code: it reads what
// clients recorded (deploy/chaos/history), the log's tables by SQL, and what is published in Redis by decoders of its
// own, and it imports no other package of Aisle. What it takes for granted is written here, and nowhere else.
//
//	Seats     what clients were told, by itself: linearizable, seat by seat (Porcupine)
//	Log       the log by a fold of its own, and against everything that clients asked for and were told
//	Maps      what the log says that every watcher must show; Watchers compares
//	Observer  what is projected into Redis: the messages, the snapshots; Snapshots compares with the log
//	Growth    what processes use, before and after
//
// A check that could not come to an end is a violation of its own (Unjudged), never an acquittal.
//
// # A seat's history
//
// A seat is free, held by a booking until a deadline, or sold to one. A command was done at one instant between its
// call and its return, or, when its answer never came, at any instant since its call, or never. There must be an order
// of those instants in which each answer is right:
//
//	hold, add, done     the seat was free, or its hold had run out; now the booking holds it. To add a seat that
//	                    the booking has already changes nothing. An addition needs a hold that has not run out
//	give back, release  the booking held it, before the deadline; now it is free. To release once more what was
//	                    released is right at any time, and does nothing
//	confirm             the booking held it, before the deadline; now it is sold, for ever
//	hold-expired (410)  the deadline had come, swept or not, and the seat was not sold to that booking
//	booking-not-held    the booking did not hold it; where it is said to be confirmed, it had bought it
//	any other refusal   nothing was done, nor will be. Whether the reason was true is for Log
//
// Every seat that an answer shows as held counts, not only those that were asked for. A command on several seats is
// judged at each of them by itself; that all were done or none is for Log. Instants and deadlines are of one clock, the
// machine's, which the database uses, too. A deadline is as answered, to the microsecond; where the answer never came,
// a hold lasts at least as long as holds do. What was never answered and can't explain an answer is left out: it
// may as well not have been done.
//
// Besides, each booking by itself: one id, one deadline (the length of a hold after some instant of its command, and
// nothing lengthens it), the seats and the state that the command asks for.
//
// # The log
//
// Tables: streams (a showing each: head, and the event there), events (seq 1 … head without a gap; prev is the seq of the
// same entity's latest event, 0 for none; deadline; at, by the database's clock), commands (the outcome of each
// command, one row a session and key: its booking, status, and the seq of the booking's event), bookings (the index:
// each booking as of its latest event), log (its id). The event bodies are JSON: a seat's says booking, seat,
// previous, current, why; a booking's says booking, session, state, seats, why, who, as they are afterwards.
//
// A seat may go
//
//	available → held     hold
//	held → held          takeover, by another booking, at or after the deadline
//	held → sold          confirm, by the same booking, before the deadline
//	held → available     give-back or release, before the deadline; expire or takeover, at or after it
//	sold → available     refund
//
// and a booking held → confirmed, released or expired, gaining seats and losing them one by one while it is held, its
// deadline unchanged. After each append (all events of the same at), a booking that is held or confirmed has exactly
// the seats that the seats' own events say, with its deadline, and a session has one hold a showing.
//
// What was acknowledged is there: the command's row, and the booking's event that it names, with the seats and the
// state of the answer. What was refused is not there. And nothing is there that nobody asked for: each of a
// booking's events but its running out is the outcome of one command, and of one that a client sent, for these seats. A
// seat that was refused because someone has it was had by someone else, at some time since two seconds before
// the call (by so much a map may lag that refuses at once).
//
// # In Redis
//
//	<namespace>:{<showing>}:snapshot  hash: format, epoch, round, log, seq, event, taken, deadline, state (JSON with the
//	                                  status of each seat that ever changed)
//	<namespace>:{<showing>}:delta     channel: JSON with log, epoch, prev, seq and, unless too many, the events between
//
// A term is a leader's time, numbered by its epoch; within it, rounds count how often it found that the log, or what
// is stored, went back. What the design promises, exactly, and what is thus judged:
//
//   - A term goes through a log once: what it publishes never begins before the end of what it published before. The very
//     same message may come again, right after itself: a write whose answer was lost is run once more. Nothing is
//     published by the write that mends a snapshot.
//   - While a snapshot is there, no earlier term writes after a later one, and a later term goes on where the snapshot is:
//     it publishes nothing that ends before it.
//   - Where the snapshot is gone (a leader died and its lease took it along, Redis lost it), the next term begins with the
//     first event, and its readers tell by seq; and an old leader's write is accepted, and right. So the two promises
//     above are judged only where looks at the snapshot prove, by what each found it to have left to live, that it was
//     there all the time, on the same server with the same history (run_id and master_replid).
//   - While it is there, a snapshot goes back neither in epoch, nor in round within an epoch, nor in seq within a round;
//     and a later term may bring an older seq of the same log by a later round only.
//   - At the end every open showing's snapshot is at the log's head, with the seats that the log says, signed by the latest
//     term, and ends with its lease.
//
// The observer claims nothing about what it could not see: messages while its subscription was lost, snapshots while Redis
// did not answer. Whoever makes Redis lose what it has, or sets its clock, or replaces the log, says so (Reset).
package judge
