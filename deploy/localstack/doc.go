// Package localstack runs the stores of one machine: PostgreSQL, redis-server and an etcd inside this
// process, all on loopback (PostgreSQL on a Unix socket too), with their data under one directory. It is
// what `aisle up` stands on, and what tests run against. It needs Linux, and Debian's packages postgresql
// (15 or later) and redis-server.
//
// # States
//
// A Stack is the one owner of its directory: it holds a lock on <dir>/lock from Start to Stop, so two
// stacks can never run PostgreSQL on the same files. Each store is down or up; Stop, Start and Kill of one
// store exist for tests of what happens while it is gone. Watch starts again a store that died by itself.
//
// # Invariants
//
//   - PostgreSQL is durable (fsync on) unless Config.Volatile says otherwise. Redis keeps nothing on disk:
//     the log in PostgreSQL is the truth. Nothing in etcd outlives a lease, so each Start begins with an empty
//     one, as it does with Redis: a snapshot's epoch and the etcd that gave it end together, and what a crash
//     did to etcd's files does not matter. Within one Stack, etcd keeps its data when it is stopped and started.
//   - A directory is either complete or does not exist: initdb works under another name and is renamed.
//   - Ports are remembered in <dir>/ports.json and used again as long as they are free. They are picked
//     below the range from which the kernel takes ports for outgoing connections.
//   - PostgreSQL asks for a password on every connection (in <dir>/password, readable by its owner). Redis and
//     etcd ask for none: whoever can log in to the machine can reach them, and can make sales slower, not wrong.
//
// # Failures
//
//   - Killed with kill -9: the kernel ends the stores with us (parent-death signal); etcd dies with us.
//     What is left nevertheless, the next Start ends: a process counts as left behind only if its program
//     and its arguments name our directory, which nobody else uses because we hold its lock.
//   - A stale postmaster.pid whose process number now belongs to a stranger is removed, and the stranger
//     left alone.
//   - A port taken by someone else in the meantime: another one is picked, and remembered.
//   - A missing program: a MissingError, one line that names the Debian package.
//
// As root, PostgreSQL and Redis run as the user postgres (initdb refuses root), which must be able to reach
// the directory: each folder above it must be open (o+x) to that user.
package localstack
