package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// namespace is the servers' default: what stands before their keys in Redis.
const namespace = "aisle"

// Run is one run of one scenario: what its Break works with.
type Run struct {
	Fleet   *fleet.Fleet
	History *history.Recorder
	Rand    *rand.Rand
	Config  Config

	scenario Scenario
	observer *judge.Observer
	watchers *client.Watchers
	sending  atomic.Pointer[func(history.Kind, string)]
	buyers   *buying
	before   []*buying
	report   Report
	began    time.Time
	// lostUntil is until when replicas may refuse by a history that is lost, zero for never.
	lostUntil time.Time

	mu       sync.Mutex
	expected []judge.Violation
}

// buying is buyers at work; stop ends them, and done closes when what they began is finished.
type buying struct {
	*client.Buyers
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// Play runs a scenario and says what became of it. An error means that there is no verdict: the fault could not be
// made, or the machine lacks something.
func Play(ctx context.Context, cfg Config, s Scenario) (report Report, err error) {
	cfg = cfg.WithDefaults()
	if s.Clients != nil {
		s.Clients(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	r := &Run{
		Config: cfg, scenario: s, History: &history.Recorder{}, began: time.Now(),
		Rand:   rand.New(rand.NewPCG(cfg.Seed, 0)), //nolint:gosec // a run must be the same again
		report: Report{Scenario: s.Name, Seed: cfg.Seed},
	}
	if r.Fleet, err = fleet.Start(ctx, r.fleetConfig()); err != nil {
		return Report{}, fmt.Errorf("chaos: %s: %w", s.Name, err)
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, r.Fleet.Stop(stopping))
		switch {
		case err == nil && report.OK():
			err = os.RemoveAll(cfg.Dir)
		case err == nil:
			err = r.keep()
		}
	}()
	if err := r.play(ctx); err != nil {
		return Report{}, fmt.Errorf("chaos: %s: %w", s.Name, err)
	}
	r.report.Took = time.Since(r.began)
	return r.report, nil
}

// keep leaves the record of a run that broke something beside its data and logs, an operation a line.
func (r *Run) keep() error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, op := range r.History.Ops() {
		if err := encoder.Encode(op); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(r.Config.Dir, "history.jsonl"), text.Bytes(), 0o600)
}

func (r *Run) fleetConfig() fleet.Config {
	cfg := fleet.Config{
		Dir: r.Config.Dir, Binary: r.Config.Binary, ShiftedBinary: r.Config.Shifted, Replicas: r.Config.Replicas,
		HoldFor: r.Config.HoldFor, LeaderTTL: r.Config.LeaderTTL,
		Showings: r.Config.Showings, Rows: r.Config.Rows, SeatsPerRow: r.Config.SeatsPerRow,
		Logger: r.Config.Logger,
	}
	if r.scenario.Set != nil {
		r.scenario.Set(&cfg)
	}
	return cfg
}

// play goes through the phases.
func (r *Run) play(ctx context.Context) error {
	r.observer = judge.Observe(ctx, r.Fleet.RedisClient(), namespace)
	defer r.observer.Close()
	base, err := r.samples(ctx)
	if err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var group errgroup.Group
	r.watchers, err = client.NewWatchers(r.Config.Watchers, client.WatchersConfig{
		Replicas: r.Fleet.URLs, Seed: r.Config.Seed, MaxBackoff: r.Config.MaxBackoff,
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return r.watchers.Run(watching) })
	err = r.phases(ctx)
	stopWatching()
	err = errors.Join(err, group.Wait())
	if err != nil {
		return err
	}
	if err := r.growth(ctx, base); err != nil {
		return err
	}
	return r.judge(ctx)
}

func (r *Run) phases(ctx context.Context) (err error) {
	everyone := func() bool { return r.watchers.Stats().Live == r.Config.Watchers }
	if err := r.Until(ctx, 30*time.Second, "all watchers to have a map", everyone); err != nil {
		return err
	}
	started := time.Now()
	if err := r.StartBuyers(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.StopBuyers(context.WithoutCancel(ctx))) }()
	if err := r.Wait(ctx, r.Config.Before); err != nil {
		return err
	}
	broke := time.Now()
	r.Say("breaking")
	if err := r.scenario.Break(ctx, r); err != nil {
		return err
	}
	repaired := time.Now()
	r.Say("repaired")
	if err := r.Wait(ctx, r.Config.After); err != nil {
		return err
	}
	stopped := time.Now()
	if err := r.StopBuyers(ctx); err != nil {
		return err
	}
	r.report.phase(r.History, started, broke, repaired, stopped)
	r.Expect(!r.scenario.SalesGoOn || r.report.During >= r.report.Before/10, AsPromised,
		"sales did not go on: %.1f a second, %.1f before", r.report.During, r.report.Before)
	return r.compare(ctx, repaired)
}

// StartBuyers lets the buyers begin, and record what they do in History; Play has done so before Break.
func (r *Run) StartBuyers(ctx context.Context) error {
	buyers, err := client.NewBuyers(r.Config.Buyers, client.BuyersConfig{
		Replicas: r.Fleet.URLs, Seed: r.Config.Seed + uint64(len(r.before)), Think: r.Config.Think, Confirms: r.Config.Confirms, Sending: r.sent,
	}, r.History)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	r.buyers = &buying{Buyers: buyers, stop: stop, done: make(chan struct{})}
	r.before = append(r.before, r.buyers)
	go func(b *buying) {
		defer close(b.done)
		b.err = b.Run(ctx)
	}(r.buyers)
	return nil
}

// StopBuyers returns when the buyers have finished what they began.
func (r *Run) StopBuyers(ctx context.Context) error {
	r.buyers.stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.buyers.done:
		return r.buyers.err
	}
}

func (r *Run) sent(kind history.Kind, url string) {
	if f := r.sending.Load(); f != nil {
		(*f)(kind, url)
	}
}

// WhenSending calls f before each command that a buyer sends from now on, nil for no longer. It must return at once.
func (r *Run) WhenSending(f func(kind history.Kind, url string)) {
	if f == nil {
		r.sending.Store(nil)
		return
	}
	r.sending.Store(&f)
}

// Wait lets d go by.
func (r *Run) Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Until asks every 20 ms whether something is so, for at most d; when it never is, that is an error which says what.
func (r *Run) Until(ctx context.Context, d time.Duration, what string, so func() bool) error {
	deadline := time.Now().Add(d)
	for !so() {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain: %s", d, what)
		}
		if err := r.Wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Between draws a time.
func (r *Run) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.Rand.Int64N(int64(most-least)))
}

// AnyReplica draws one that is running.
func (r *Run) AnyReplica() *fleet.Replica {
	all := r.Fleet.Replicas()
	for {
		if one := all[r.Rand.IntN(len(all))]; one.Alive() {
			return one
		}
	}
}

// Expect notes a violation unless ok: what this scenario promises beyond the invariants.
func (r *Run) Expect(ok bool, invariant, format string, args ...any) {
	if ok {
		return
	}
	r.note(judge.Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
}

func (r *Run) note(found ...judge.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected = append(r.expected, found...)
}

// Say notes what is done, with the time since the run began.
func (r *Run) Say(format string, args ...any) {
	r.Config.Logger.Info(fmt.Sprintf(format, args...), slog.Duration("at", time.Since(r.began).Round(time.Millisecond)), //nolint:sloglint // the text is the message
		slog.String("scenario", r.scenario.Name))
}

// Forgotten tells the observer that Redis has lost what it had: what it saw there no longer counts.
func (r *Run) Forgotten() { r.observer.Reset() }
