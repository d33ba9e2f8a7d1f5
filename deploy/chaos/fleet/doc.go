// Package fleet runs what a chaos run breaks: the stores, the replicas on top of them, and a proxy on the way
// between each replica and each store. It knows the product by its command line, its ops listener and nothing else.
//
// # What runs
//
// PostgreSQL (with fsync), Redis (alone, under Sentinel, or as a Cluster) and etcd are those of deploy/localstack,
// each in a directory of its own. A replica is a process of `aisle serve`, started by us and never started again by
// anyone but the caller. Each pair of replica and store has its Link, but for Sentinel and Cluster, whose clients
// learn the nodes' addresses by themselves.
//
// # What can be broken
//
//   - A replica: killed, stopped and resumed (SIGSTOP), terminated (SIGTERM), cut off from the world
//     (Config.Namespaces), or 30 s ahead of its time (Config.ReplicaClock).
//   - A link: cut, hung, slow, or losing replies to requests that got through.
//   - A store: killed, stopped, started again empty or with its data, its disk full, its clock moved, a Redis
//     fail-over that loses what was acknowledged, a slot of a Cluster moved while it is in use.
//
// # What is left behind
//
// Nothing, after Stop. When the driver is killed instead, the kernel ends replicas and stores with it (parent-death
// signal); mounts and network namespaces stay, carry its process number in their names, and are removed by the next
// Start, as are store processes that survived in the same directory.
//
// Nothing here sends a packet anywhere but to loopback and to the namespaces of our own replicas.
package fleet
