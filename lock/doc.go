// Package lock keeps seat locks in Redis.
package lock
