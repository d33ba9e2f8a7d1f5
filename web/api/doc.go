// Package api is the public edge of one replica: HTTP and the way to the live socket, the OpenAPI document
// that is generated from its handlers, and the browser application.
//
// # What it promises
//
//   - Every error is an RFC 9457 problem from one table (kinds.go), mapped in one place (problemOf). What
//     went wrong inside reaches the log, never a client.
//   - A command (every POST and DELETE but the one that starts a session) carries an Idempotency-Key. What it
//     is compared by is its method, its path with the ids in lower case, and its body, decoded and encoded
//     again: the same JSON with other spacing or another order of its members is the same body.
//   - A cookie speaks for a customer only in a request from our own pages, or those of an allowed origin; a
//     Bearer token needs no such care, since no page of another site can make a browser send it.
//   - A client's network address is taken from X-Forwarded-For only when the peer is a trusted proxy, and
//     likewise the scheme from X-Forwarded-Proto. The header Forwarded is not read: a proxy that
//     rewrites one of the two and passes the other on would let clients choose their address.
//   - Addresses are kept nowhere in the clear. Loopback is exempt from limits per address: behind a local proxy
//     that was not declared as trusted, everybody would share it.
//
// # What each failure does
//
//   - PostgreSQL is gone: maps are still served, marked stale; sessions are believed for as long as
//     web/auth says; commands are answered 503 unavailable with Retry-After, or 503 outcome-unknown when
//     the answer was lost on its way.
//   - A handler panics: that request gets 500 and the log the stack; nobody else notices.
//   - A client floods: limits per session and per address, each in bounded memory, answer 429 with Retry-After.
package api

//go:generate go run ./openapi -out openapi.json
