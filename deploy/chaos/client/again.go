package client

import (
	"context"
	"fmt"
	"sync"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// twice runs the same command under the same key from two replicas at once, and returns what became of it.
func twice(ctx context.Context, one, other errand) (verdict, error) {
	var a, b verdict
	var both sync.WaitGroup
	both.Go(func() { a = one.run(ctx) })
	both.Go(func() { b = other.run(ctx) })
	both.Wait()
	return join(a, b)
}

// join makes one verdict of two for the same command, and an error if both together can't be right.
func join(a, b verdict) (verdict, error) {
	if b.outcome == history.OK && (a.outcome != history.OK || b.returned.Before(a.returned)) {
		a, b = b, a // a is the first that was done, if one was
	}
	joined := a
	joined.attempts = a.attempts + b.attempts
	joined.answers, joined.lost = a.answers+b.answers, a.lost+b.lost
	if joined.odd == nil {
		joined.odd = b.odd
	}
	if b.call.Before(a.call) {
		joined.call = b.call
	}
	if a.outcome == history.OK {
		return joined, agree(a, b)
	}
	joined.outcome = history.Unknown
	switch {
	case a.outcome == history.Unknown && b.staysRefused():
		joined.answer, joined.url, joined.returned, joined.outcome = b.answer, b.url, b.returned, history.Refused
	case a.staysRefused(), a.outcome == history.Refused && b.outcome == history.Refused:
		joined.outcome = history.Refused
	}
	// The later of the two: only then was neither under way.
	if joined.outcome == history.Refused && b.returned.After(joined.returned) {
		joined.returned = b.returned
	}
	return joined, nil
}

func (v *verdict) staysRefused() bool {
	return v.outcome == history.Refused && v.answer.means() == ended
}

// agree says whether b can be right where a, of the same command, was done.
func agree(a, b verdict) error {
	switch {
	case b.outcome == history.OK:
		return sameAnswer(a.answer, b.answer)
	case b.answers > 0 && b.answer.Problem == problemExists, b.staysRefused():
		return fmt.Errorf("one was %s, the other %s", a.answer, b.answer)
	case b.outcome == history.Refused && b.answer.means() == refused && b.call.After(a.returned):
		return fmt.Errorf("first it was %s, then %s", a.answer, b.answer)
	default:
		// Refused before the other was done, or never answered.
		return nil
	}
}

// sameAnswer says how two answers of one key, both done, differ.
func sameAnswer(first, second Answer) error {
	if first.Status != second.Status || !first.Booking.same(second.Booking) {
		return fmt.Errorf("first it was %s, then %s", first, second)
	}
	return nil
}

// deed is a command that was done, kept to be sent once more.
type deed struct {
	session Session
	command Command
	answer  Answer
	url     string
}

// again sends a command that was done to another replica, under its key: the answer must be the same.
func (b *buyer) again(ctx context.Context, d deed) {
	e := b.errand(d.session, d.command)
	e.cfg.Patience = e.cfg.Attempt // what is not answered soon is not worth waiting for
	v := e.run(ctx)
	var err error
	switch {
	case v.outcome == history.OK:
		err = sameAnswer(d.answer, v.answer)
	case v.answers > 0 && (v.answer.means() == refused || v.answer.means() == ended):
		err = fmt.Errorf("first it was %s, then %s", d.answer, v.answer)
	}
	if err != nil {
		b.wrong("%s of session %s, key %s, done at %s, sent again to %s: %v", d.command.Kind, d.session.ID, d.command.Key, d.url, v.url, err)
	}
}
