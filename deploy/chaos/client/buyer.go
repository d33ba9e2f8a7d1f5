package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// How often, of a hundred, a buyer does what.
const (
	oftenAdds      = 20 // more seats
	oftenGivesBack = 15 // one seat
	oftenTwice     = 6  // a command from two replicas at once
	oftenAgain     = 8  // a command that was done before, after this one
	oftenReadsBack = 15 // a sale
)

// Bounds of what a buyer remembers.
const (
	maxDeeds     = 8
	maxAbandoned = 4
)

// buyer is one customer. All that is random in its life comes from rng.
type buyer struct {
	cfg    BuyersConfig
	rec    *history.Recorder
	api    *API
	seen   *violations
	number int
	rng    *rand.Rand
	market market

	session   *Session // nil: needs a new one
	keys      int      // used so far
	deeds     []deed
	abandoned []purchase // holds that are left to run out
}

// purchase is a booking in the making.
type purchase struct {
	session Session
	house   *house
	owner   string
	booking Booking // as last answered
}

func newBuyer(b *Buyers, number int, houses []*house) *buyer {
	rng := rand.New(rand.NewPCG(b.cfg.Seed, uint64(number))) //nolint:gosec // a run can be run again from its seed
	return &buyer{
		cfg: b.cfg, rec: b.rec, api: b.api, seen: &b.seen, number: number, rng: rng,
		market: newMarket(b.api, houses, rng),
	}
}

// chance says yes so many times of a hundred.
func (b *buyer) chance(percent int) bool { return b.rng.IntN(100) < percent }

func (b *buyer) wrong(format string, args ...any) {
	b.seen.add(SameAnswer, "buyer %d: %s", b.number, fmt.Sprintf(format, args...))
}

func (b *buyer) run(ctx context.Context) {
	for b.think(ctx) {
		if b.session == nil && !b.begin(ctx) {
			continue
		}
		b.lateConfirm(ctx)
		b.buy(ctx)
	}
}

// think pauses between two commands; false: the run is over.
func (b *buyer) think(ctx context.Context) bool {
	mean := int64(b.cfg.Think)
	return wait(ctx, time.Duration(mean/2+b.rng.Int64N(mean+1))) == nil
}

// begin makes a session.
func (b *buyer) begin(ctx context.Context) bool {
	attempt, cancel := context.WithTimeout(ctx, b.cfg.Attempt)
	defer cancel()
	session, err := b.api.NewSession(attempt, b.anyReplica())
	if err != nil {
		_ = wait(ctx, 100*time.Millisecond)
		return false
	}
	b.session = &session
	return true
}

func (b *buyer) anyReplica() string { return nth(b.cfg.Replicas(), b.rng.IntN(1<<16)) }

// buy makes one booking and brings it to an end.
func (b *buyer) buy(ctx context.Context) {
	house, seats := b.market.choose(ctx, b.anyReplica())
	p := purchase{session: *b.session, house: house}
	if b.hold(ctx, &p, seats) && b.changeMind(ctx, &p) {
		b.finish(ctx, &p)
	}
}

// hold begins p's booking; true: it is there.
func (b *buyer) hold(ctx context.Context, p *purchase, seats []string) bool {
	return b.do(ctx, p, history.Hold, seats) == history.OK
}

// changeMind adds and gives back; false: the booking has ended, or nobody knows.
func (b *buyer) changeMind(ctx context.Context, p *purchase) bool {
	if b.chance(oftenAdds) && b.think(ctx) {
		if seats := b.market.beside(p.house, p.booking.Seats, 1+b.rng.IntN(2)); len(seats) > 0 {
			b.do(ctx, p, history.Add, seats)
		}
	}
	if b.session != nil && b.chance(oftenGivesBack) && b.think(ctx) {
		b.do(ctx, p, history.GiveBack, []string{p.booking.Seats[b.rng.IntN(len(p.booking.Seats))]})
	}
	return b.session != nil && p.booking.State == stateHeld
}

// finish confirms, releases, or walks away.
func (b *buyer) finish(ctx context.Context, p *purchase) {
	if !b.think(ctx) {
		return
	}
	end, confirms := b.rng.IntN(100), b.cfg.Confirms
	switch {
	case end < confirms:
		if b.do(ctx, p, history.Confirm, p.booking.Seats) == history.OK && b.chance(oftenReadsBack) {
			b.readBack(ctx, p)
		}
	case end < confirms+(100-confirms)*5/8: // of the rest, five in eight think better of it, and three just go away
		b.do(ctx, p, history.Release, p.booking.Seats)
	default:
		b.abandon(*p)
	}
}

// abandon leaves a hold to run out. Its session holds that booking, so the buyer needs another.
func (b *buyer) abandon(p purchase) {
	if len(b.abandoned) == maxAbandoned {
		b.abandoned = b.abandoned[1:]
	}
	b.abandoned = append(b.abandoned, p)
	b.session = nil
}

// lateConfirm tries to confirm the oldest abandoned hold around the instant in which it runs out.
func (b *buyer) lateConfirm(ctx context.Context) {
	if len(b.abandoned) == 0 {
		return
	}
	p := b.abandoned[0]
	if time.Until(p.booking.ExpiresAt) > b.cfg.Think {
		return
	}
	b.abandoned = b.abandoned[1:]
	current := b.session
	b.do(ctx, &p, history.Confirm, p.booking.Seats)
	b.session = current
}

// do carries one command to its end, records and checks it. After an Unknown, or the end of a booking that the buyer did
// not want, the buyer needs a new session.
func (b *buyer) do(ctx context.Context, p *purchase, kind history.Kind, seats []string) history.Outcome {
	b.keys++
	c := Command{Kind: kind, Showing: p.house.showing, Booking: p.booking.ID, Seats: seats, Key: fmt.Sprintf("%s-%d-%d", kind, b.number, b.keys)}
	if kind == history.Hold {
		p.owner = p.session.ID.String() + "/" + c.Key
	}
	e := b.errand(p.session, c)
	var v verdict
	if b.chance(oftenTwice) {
		other := b.errand(p.session, c)
		other.first = e.first + 1
		var err error
		if v, err = twice(ctx, e, other); err != nil {
			b.wrong("%s of session %s, key %s, sent to two replicas at once: %v", kind, p.session.ID, c.Key, err)
		}
	} else {
		v = e.run(ctx)
	}
	b.rec.Add(v.record(history.Op{
		Client: b.number, Session: p.session.ID, Showing: p.house.showing, Owner: p.owner, Booking: p.booking.ID, Key: c.Key,
		Kind: kind, Seats: seats,
	}))
	b.take(p, c, v)
	b.sometimesAgain(ctx)
	return v.outcome
}

// take learns from the verdict on c.
func (b *buyer) take(p *purchase, c Command, v verdict) {
	if v.odd != nil {
		b.wrong("%s of session %s, key %s: outside the contract: %s (%s)", c.Kind, p.session.ID, c.Key, v.odd, v.odd.Detail)
	}
	if v.answers > 0 {
		if err := check(c, p.booking, v.answer); err != nil {
			b.wrong("%s of session %s, key %s, at %s (attempt %d): %v", c.Kind, p.session.ID, c.Key, v.url, v.attempts, err)
		}
	}
	switch {
	case v.outcome == history.OK:
		b.remember(deed{session: p.session, command: c, answer: v.answer, url: v.url})
		if v.answer.Booking != nil {
			p.booking = *v.answer.Booking
		} else {
			p.booking.State = stateReleased
		}
		b.market.learn(p.house, c, v.answer)
	case v.outcome == history.Refused && v.answer.means() == refused:
		b.market.learn(p.house, c, v.answer)
		if c.Kind != history.Hold && c.Kind != history.Add {
			b.session = nil
		}
	default:
		// Unknown, or the booking is gone, or its patience: whatever it is, it is not a booking to go on with.
		b.session = nil
	}
}

func (b *buyer) remember(d deed) {
	if len(b.deeds) == maxDeeds {
		b.deeds = b.deeds[1:]
	}
	b.deeds = append(b.deeds, d)
}

func (b *buyer) sometimesAgain(ctx context.Context) {
	if len(b.deeds) > 0 && b.chance(oftenAgain) && ctx.Err() == nil {
		b.again(ctx, b.deeds[b.rng.IntN(len(b.deeds))])
	}
}

func (b *buyer) errand(s Session, c Command) errand {
	return errand{
		cfg: b.cfg, session: s, command: c, first: b.rng.IntN(1 << 16),
		rng: rand.New(rand.NewPCG(b.rng.Uint64(), b.rng.Uint64())), //nolint:gosec // jitter, from the run's seed
	}
}

// readBack reads a confirmed booking at some other replica: it must say so there, too.
func (b *buyer) readBack(ctx context.Context, p *purchase) {
	attempt, cancel := context.WithTimeout(ctx, b.cfg.Attempt)
	defer cancel()
	url := b.anyReplica()
	answer, err := p.session.Booking(attempt, url, p.booking.ID)
	if err != nil || answer.means() == nothing {
		return
	}
	if !answer.OK() || answer.Booking == nil || answer.Booking.ID != p.booking.ID || !answer.Booking.same(&p.booking) {
		b.wrong("booking %s of session %s was confirmed as %s, and at %s reads %s", p.booking.ID, p.session.ID, &p.booking, url, answer)
	}
}
