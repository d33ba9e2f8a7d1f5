// Package seatmap shows showings' seats: the leader's Projector makes snapshots and deltas of the log's
// events, and each replica's Live keeps the maps that someone looks at.
package seatmap
