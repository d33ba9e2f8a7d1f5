package seatmap

import (
	"context"
	_ "embed" // The scripts lie beside their Go.
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/booking"
)

var (
	//go:embed write.lua
	writeLua string
	//go:embed refresh.lua
	refreshLua string
)

// What the scripts answer.
const (
	answerOK     = "ok"
	answerEpoch  = "epoch"
	answerOlder  = "older"
	answerOdd    = "odd"
	answerAhead  = "ahead"
	answerBehind = "behind"
)

// writeRequest is one run of write.lua.
type writeRequest struct {
	showing uuid.UUID
	header
	round int64
	state []byte
	ttl   time.Duration
	// delta and bookings are what is published; empty for nothing.
	delta, bookings []byte
	// freed are the locks that go, when locks names the hash that has them.
	locks string
	freed []freedLock
}

// freedLock is a seat and the booking that no longer has it.
type freedLock struct {
	seat  booking.Seat
	owner uuid.UUID
}

// scripts runs the projector's scripts.
type scripts struct {
	client         redis.UniversalClient
	prefix         string
	write, refresh *redis.Script
}

func newScripts(client redis.UniversalClient, prefix string) *scripts {
	return &scripts{
		client: client, prefix: prefix,
		write: redis.NewScript(writeLua), refresh: redis.NewScript(refreshLua),
	}
}

// runWrite runs write.lua and is its answer.
func (s *scripts) runWrite(ctx context.Context, r writeRequest) (string, error) {
	keys := []string{SnapshotKey(s.prefix, r.showing)}
	args := make([]any, 0, 14+2*len(r.freed))
	args = append(args, storedFormat, r.epoch, r.round, r.log, r.position.Seq, r.position.Event.String(),
		r.taken, encodeDeadline(r.deadline), r.state, r.ttl.Milliseconds(),
		DeltaChannel(s.prefix, r.showing), r.delta, BookingsChannel(s.prefix), r.bookings)
	if r.locks != "" && len(r.freed) > 0 {
		keys = append(keys, r.locks)
		for _, f := range r.freed {
			args = append(args, string(f.seat), f.owner.String())
		}
	}
	answer, err := s.write.Run(ctx, s.client, keys, args...).Text()
	if err != nil {
		return "", fmt.Errorf("seatmap: write snapshot of %s: %w", r.showing, err)
	}
	return answer, nil
}

// refreshRequest is one run of refresh.lua.
type refreshRequest struct {
	showing uuid.UUID
	header
}

// runRefresh runs refresh.lua for many showings in one round trip and has an answer for each.
func (s *scripts) runRefresh(ctx context.Context, requests []refreshRequest, ttl time.Duration) ([]string, error) {
	args := func(r refreshRequest) ([]string, []any) {
		return []string{SnapshotKey(s.prefix, r.showing)},
			[]any{storedFormat, r.epoch, r.log, r.position.Seq, r.position.Event.String(), ttl.Milliseconds()}
	}
	pipe := s.client.Pipeline()
	answers := make([]*redis.Cmd, len(requests))
	for i, r := range requests {
		keys, values := args(r)
		answers[i] = s.refresh.EvalSha(ctx, pipe, keys, values...)
	}
	// Each answer has its own error; that of the pipeline is the first of them.
	_, _ = pipe.Exec(ctx)
	texts := make([]string, len(requests))
	for i, answer := range answers {
		if redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
			keys, values := args(requests[i])
			answer = s.refresh.Run(ctx, s.client, keys, values...)
		}
		text, err := answer.Text()
		if err != nil {
			return nil, fmt.Errorf("seatmap: refresh snapshot of %s: %w", requests[i].showing, err)
		}
		texts[i] = text
	}
	return texts, nil
}

// headers reads the headers of many snapshots in one round trip. A header that makes no sense is in bad;
// a showing without a snapshot is in neither.
func (s *scripts) headers(ctx context.Context, showings []uuid.UUID) (
	found map[uuid.UUID]header, bad map[uuid.UUID]error, err error,
) {
	pipe := s.client.Pipeline()
	answers := make([]*redis.SliceCmd, len(showings))
	names := headerFields()
	for i, showing := range showings {
		answers[i] = pipe.HMGet(ctx, SnapshotKey(s.prefix, showing), names...)
	}
	_, _ = pipe.Exec(ctx)
	found, bad = map[uuid.UUID]header{}, map[uuid.UUID]error{}
	for i, answer := range answers {
		values, err := answer.Result()
		if wrongType(err) {
			bad[showings[i]] = err
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("seatmap: read snapshot of %s: %w", showings[i], err)
		}
		fields := map[string]string{}
		for k, value := range values {
			if text, ok := value.(string); ok {
				fields[names[k]] = text
			}
		}
		if len(fields) == 0 {
			continue
		}
		if found[showings[i]], err = decodeHeader(fields); err != nil {
			delete(found, showings[i])
			bad[showings[i]] = err
		}
	}
	return found, bad, nil
}
