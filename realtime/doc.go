// Package realtime keeps the live seat maps of browsers current: a Hub owns every WebSocket of a
// replica, a room for each showing that someone watches, and what is said on them, subprotocol
// aisle.v1. It knows nothing of seats or bookings: maps come through Maps, bookings as JSON.
//
// # Who does what
//
// A socket has one reader, a room one goroutine, and each of a few writers a share of the sockets
// (a shard). Rooms and writers never wait for a client.
//
//	Map ──▶ room ──▶ the queue of each socket ──▶ its shard's writer ──▶ the line
//	         ▲                                    └▶ a waiting write, while the line takes nothing
//	         └── requests ── the reader of each socket
//
// A room pulls. On a signal that its map has changed, or when sockets ask to be let in, it takes the
// delta from its own seq to the map's present, encodes it once, and gives the same frame to every
// member. Its messages are then a flight, which lands when the writers have had their turn at all of
// them; what changes meanwhile is joined into the next delta. So there is no fixed wait: in a quiet
// room a change travels at once, in a busy one as often as it can be written.
//
// There is one room a showing and replica, not one for each writer: rooms only fill queues, about a
// tenth of a microsecond a socket, while writing takes a system call for each. The writers share
// that out.
//
// A writer tries each socket without waiting, joining what is in its queue into one write. The
// socket that does not take all of it leaves the shard to a goroutine of its own, for as long as
// that lasts. Frames are built here and are written past gorilla/websocket, which does the handshake
// and reads; it sees the line through a wire that refuses its own answers.
//
// # States
//
// A hub is new, running, or draining. It takes sockets only while it is running; everyone else has 503.
//
// A socket is open, then closing, then gone. Closing begins with the first goodbye, whoever says it:
// from then on nothing is queued or listened to, and the last messages, the close frame and the wait
// for the client to hang up together have GoodbyeTimeout. What the client still sends is read
// away, since closing over it would reset the line and lose the goodbye. The reader makes it gone.
//
//	why                    message before                  close code   retry_after_ms
//	the hub drains         bye draining                    1001         its own, spread out
//	it reads too slowly    bye slow                        4001         1,000 to 2,000
//	it is silent           bye idle                        4002         0
//	its session was ended  bye session-ended               4003         0
//	it sends what is no    error bad-message               1008
//	message, or too many
//	it sends too much      none                            1009
//	it hangs up            none                            its own
//
// A room opens its map, shows it, and ends with its last socket. While the map can't be opened its
// sockets are told that it is stale, and it is tried again after 250 ms, then less often, up to 2 s.
// A map that ends by itself (its channel of changes is closed) is opened again; members keep their
// seq.
//
// # Invariants
//
// All members of a room are at the room's log and seq. So a frame is the same for all of them, and
// each delta's prev is the seq before it.
//
// A newcomer gets one snapshot, or, with the room's log and a seq that the map still covers, one
// delta, and is then where everyone is. The room first advances for all. What the newcomers get is
// read next, and the room advances again, since the map may have moved on meanwhile; that last step
// is laid over what they get. A delta in answer to a subscribe means that the map is not stale,
// unless a stale message follows it. Who subscribes again is let in anew; of several requests that
// a room has not come to yet, a socket's latest counts.
//
// A socket is written to by whoever has its turn, and a turn is handed on, never shared: two
// goroutines can't write to one line. After the close frame or a failed write nobody takes another.
//
// Everything is bounded: sockets (MaxSockets, MaxSocketsPerAddress), what waits for one (QueueFrames,
// QueueBytes), what one asks for (MaxSubscriptions, MessagesPerSecond, MaxMessageBytes, and twice
// that in bytes on the line for one message, so that fragments without end are no way round it),
// requests to a room (one a socket), and the time of every write, read and goodbye.
//
// Compression is off and never agreed on: a read limit counts compressed bytes, deltas are too short
// to gain by it, and it would cost every socket a window. A compressed frame is a bad message.
//
// # Failures
//
// A client that stops reading fills its queue, and is closed as slow; what waited is dropped, the
// goodbye is sent as far as it still gets through. A line that takes less than 16 KiB in
// WriteTimeout is closed too. Nobody else notices either.
//
// A client ahead of this server (its last seq is not in the map yet) makes the map catch up, for
// CatchUpTimeout at most. One call serves all who wait, to the nearest seq that anyone wants. When
// it fails, or time is up, they get a snapshot of what there is.
//
// A log with another id (a restored backup), or a map that can't say what changed since the room's
// seq, gives everyone a new snapshot.
//
// When the context of Run ends, every socket is sent away with its own time to come back, n sockets
// over n/ReconnectsPerSecond seconds; after DrainTimeout what is left is cut off. http.Server.Shutdown
// does not know of these sockets: end the hub first, then the server.
//
// A session may end between the caller's look at it and Serve: whoever ends sessions should look at
// Hub.Sessions again from time to time.
//
// # Sizes, as found
//
// An idle socket that watches one showing takes about 4.5 kB: 2.5 kB of heap and a stack of 2 kB; resident
// memory grows by 5 kB each (BenchmarkIdleSocketMemory: 5,000 sockets, Go 1.26, linux/amd64). The
// reader's stack stays that small because reading and decoding happen on another one, which is given
// back when the client is silent again. One change for 1,000 sockets costs 16 allocations, however
// many sockets there are (BenchmarkBroadcastTo1000).
package realtime
