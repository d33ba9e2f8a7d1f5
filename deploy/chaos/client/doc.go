// Package client is everyone outside the box office: buyers who hold, confirm, change their minds and try again,
// watchers who keep a seat map by the WebSocket protocol, guests who mean no good, and more buyers a second than the
// house can serve. It is written from the published contract alone and shares no code with the servers, so that where
// the two disagree, one of them is wrong.
//
// # A command and its retries
//
// A command (hold, add, give back, confirm, release) has one Idempotency-Key for all its attempts, and is one
// history.Op from just before its first attempt to its final answer.
//
//	answer of an attempt                       the buyer
//	2xx                                        is done: OK
//	409 request-in-flight, 503 outcome-unknown,
//	none (time-out, cut connection)            does not know; tries again with the same key on another replica
//	429, 503 unavailable, never sent           knows that this attempt did nothing; tries again
//	any other 4xx                              is refused, see below
//
// A refusal is the end only if no attempt before it is unaccounted for: what was refused may be judged anew, so a lost
// attempt that a stopped replica still carries may yet be done after a later one was refused. Such a command is Unknown,
// unless the refusal is one that stays true (the hold has run out, the booking has ended). So is a command that had no
// final answer by the end of the buyer's patience. After an Unknown the buyer begins anew with a new session.
//
// # What is judged here
//
// Buyers and watchers check what only they can see and report it as Violations: that a retried key gives the same
// answer, that an answer is what was asked for, that a confirmed booking reads so on every replica; that deltas chain, that
// a sequence never goes back on one connection, that there are no seats but those of the layout. Whether all answers
// together can be true is the judge's business.
//
// # When things fail
//
//	a replica is gone      attempts fail at once and go on at another; watchers reconnect with back-off and resume
//	a replica is stopped   attempts time out (2 s) and go on at another; watchers notice after 60 s of silence
//	all replicas are gone  buyers try on with growing pauses until their patience ends; nothing spins
//	the run ends           buyers finish the attempt that is in flight and record its command; watchers close their lines
package client
