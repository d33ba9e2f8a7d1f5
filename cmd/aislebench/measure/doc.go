// Package measure compares contestants fairly on a machine that does other things too: they take turns, round by
// round, and the medians are compared. It knows nothing of what is measured.
//
// # How
//
// Every contestant has a warm-up round, then at least three measured ones, A B C A B C …, so that what slows the
// machine down for a while slows all of them. A round yields a Sample, figures by name; a contestant's Result has the
// median of each figure and the noise: how far the rounds' main figures lie apart, as a share of their median. On a
// shared machine absolute figures drift; ratios between contestants of one run hold.
//
// Latencies go into a Histogram of fixed size, which is wrong by at most 1/64. CPU time is read from /proc: that of
// this process, and of the PostgreSQL, Redis and servers that it started.
package measure
