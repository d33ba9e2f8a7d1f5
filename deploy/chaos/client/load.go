package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// LoadConfig says how much is asked of the replicas, however they answer.
type LoadConfig struct {
	// Replicas returns the public URLs of the replicas; it is asked before each request. Required.
	Replicas func() []string

	// Rate is the number of purchases begun in a second. Required.
	Rate float64

	// For is how long they are begun. Required.
	For time.Duration

	// InFlight bounds the purchases under way at once; those that find no place are counted and never begun. A
	// replica sheds load only if this is more than it works on and lets wait. Default 2048.
	InFlight int

	// Attempt is how long a request waits for its answer; there are no retries. Default 5 s.
	Attempt time.Duration

	// Sold is the share of holds, above 0 and up to 1, that are confirmed; the others are released, so that a house lasts
	// longer. Default 0.5.
	Sold float64

	// Seed decides when purchases arrive, and what they want. Default 0.
	Seed uint64

	// FirstClient is the number of the first client in the record. Default 0.
	FirstClient int
}

// WithDefaults returns c with its zero fields set to their defaults.
func (c LoadConfig) WithDefaults() LoadConfig {
	setDefault(&c.InFlight, 2048)
	setDefault(&c.Attempt, 5*time.Second)
	setDefault(&c.Sold, 0.5)
	return c
}

// Validate says what is wrong with c.
func (c LoadConfig) Validate() error {
	if c.Replicas == nil {
		return errors.New("load: no Replicas to load")
	}
	if c.Rate <= 0 || c.For <= 0 || c.InFlight <= 0 || c.Attempt <= 0 {
		return errors.New("load: Rate, For, InFlight and Attempt must be above 0")
	}
	if c.Sold <= 0 || c.Sold > 1 {
		return errors.New("load: Sold is a share above 0 and up to 1")
	}
	return nil
}

// load is an open loop of purchases.
type load struct {
	cfg   LoadConfig
	api   *API
	rec   *history.Recorder
	tally tally
	seats chan place    // that may be free
	slots chan *visitor // visitors with nothing to do
}

// place is one seat of one showing.
type place struct {
	showing uuid.UUID
	seat    string
}

// visitor makes one purchase after the other, in one session for as long as that holds nothing.
type visitor struct {
	number  int
	session *Session // nil: needs a new one
	keys    int
}

// wish is what is random about a purchase.
type wish struct {
	place        place
	holdURL, url string
	confirms     bool
}

// Load begins purchases (hold, then confirm or release, each sent once) at a given rate for a given time, whatever the
// answers, and records each command in rec. It returns when the last of them is answered; with an error if nothing was
// on sale, or ctx ended first.
func Load(ctx context.Context, cfg LoadConfig, rec *history.Recorder) (LoadReport, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return LoadReport{}, err
	}
	l := &load{cfg: cfg, api: NewAPI(), rec: rec, slots: make(chan *visitor, cfg.InFlight)}
	defer l.api.Close()
	rng := rand.New(rand.NewPCG(cfg.Seed, 0)) //nolint:gosec // a run can be run again from its seed
	if err := l.open(ctx, rng); err != nil {
		return LoadReport{}, fmt.Errorf("load: %w", err)
	}
	err := l.arrive(ctx, rng)
	return l.tally.report(), err
}

// open finds the seats that are free, and lets the visitors in.
func (l *load) open(ctx context.Context, rng *rand.Rand) error {
	houses, err := programme(ctx, l.api, l.cfg.Replicas)
	if err != nil {
		return err
	}
	var free []place
	for i, h := range houses {
		seats, err := l.api.Seats(ctx, nth(l.cfg.Replicas(), i), h.showing, "")
		if err != nil {
			return err
		}
		for _, seat := range h.seats {
			if seats.Seats[seat] == available {
				free = append(free, place{showing: h.showing, seat: seat})
			}
		}
	}
	rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	l.seats = make(chan place, len(free))
	for _, p := range free {
		l.seats <- p
	}
	return l.letIn(ctx)
}

// letIn makes a session for each visitor: that they come in is not the load that is meant.
func (l *load) letIn(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range l.cfg.InFlight {
		group.Go(func() error {
			session, err := l.api.NewSession(ctx, nth(l.cfg.Replicas(), i))
			if err != nil {
				return err
			}
			l.slots <- &visitor{number: l.cfg.FirstClient + i, session: &session}
			return nil
		})
	}
	return group.Wait()
}

// arrive begins purchases at random instants, Rate of them a second in the mean.
func (l *load) arrive(ctx context.Context, rng *rand.Rand) error {
	var purchases errgroup.Group
	l.tally.begin = time.Now()
	var err error
	for at := time.Duration(0); at < l.cfg.For; at += time.Duration(rng.ExpFloat64() / l.cfg.Rate * float64(time.Second)) {
		if err = wait(ctx, time.Until(l.tally.begin.Add(at))); err != nil {
			break
		}
		v, w, ok := l.start(rng)
		if !ok {
			l.tally.unstarted(time.Now())
			continue
		}
		purchases.Go(func() error {
			l.purchase(ctx, v, w)
			l.slots <- v
			return nil
		})
	}
	return errors.Join(err, purchases.Wait())
}

// start takes a visitor and a seat, if there are both.
func (l *load) start(rng *rand.Rand) (*visitor, wish, bool) {
	urls := l.cfg.Replicas()
	w := wish{
		holdURL: nth(urls, rng.IntN(1<<16)), url: nth(urls, rng.IntN(1<<16)),
		confirms: rng.Float64() < l.cfg.Sold,
	}
	select {
	case v := <-l.slots:
		select {
		case w.place = <-l.seats:
			return v, w, true
		default:
			l.slots <- v
		}
	default:
	}
	return nil, wish{}, false
}

func (l *load) purchase(ctx context.Context, v *visitor, w wish) {
	if v.session == nil && !l.comeBack(ctx, v, w) {
		l.seats <- w.place
		return
	}
	op := history.Op{
		Client: v.number, Session: v.session.ID, Showing: w.place.showing, Kind: history.Hold, Seats: []string{w.place.seat},
	}
	v.keys++
	op.Owner = fmt.Sprintf("%s/load-%d", op.Session, v.keys)
	held := l.send(ctx, v, w.holdURL, op)
	if held.Outcome != history.OK {
		if held.Outcome == history.Unknown {
			v.session = nil
		}
		l.seats <- w.place
		return
	}
	op.Kind, op.Booking = history.Release, held.Booking
	if w.confirms {
		op.Kind = history.Confirm
	}
	v.keys++
	ended := l.send(ctx, v, w.url, op)
	if ended.Outcome != history.OK {
		v.session = nil // it may still hold the booking
	}
	if ended.Outcome != history.OK || op.Kind == history.Release {
		l.seats <- w.place
	}
}

// comeBack gives a visitor a new session.
func (l *load) comeBack(ctx context.Context, v *visitor, w wish) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Attempt)
	defer cancel()
	began := time.Now()
	session, err := l.api.NewSession(ctx, w.holdURL)
	if err != nil {
		var a Answer
		if status, ok := errors.AsType[*StatusError](err); ok {
			a, err = Answer{Status: status.Status, Problem: status.Problem}, nil
		}
		l.tally.add(began, a, err)
		return false
	}
	v.session = &session
	return true
}

// send sends one command once, under the visitor's present key, and counts and records it.
func (l *load) send(ctx context.Context, v *visitor, url string, op history.Op) history.Op {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Attempt)
	defer cancel()
	op.Key = fmt.Sprintf("load-%d", v.keys)
	op.Call = time.Now()
	answer, err := v.session.Do(ctx, url, Command{Kind: op.Kind, Showing: op.Showing, Booking: op.Booking, Seats: op.Seats, Key: op.Key})
	op = Finished(op, answer, err)
	l.tally.add(op.Call, answer, err)
	l.rec.Add(op)
	return op
}
