package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/fleet"
	"github.com/aislehq/aisle/deploy/chaos/history"
	"github.com/aislehq/aisle/deploy/chaos/judge"
)

// processes are the faults of a replica itself.
func processes() []Scenario {
	return []Scenario{
		{
			Name: "replica-killed", What: "kill -9 of a replica in the middle of a confirm, three times over",
			Row: "one replica", SalesGoOn: true, Short: true, Break: killConfirms,
		},
		{
			Name: "replica-stopped", What: "SIGSTOP of a replica in the middle of a confirm, SIGCONT after 2–4 s, twice",
			Break: stopConfirms,
		},
		{
			Name: "stopped-past-hold", What: "SIGSTOP of a replica past a hold's end, with the confirm in its socket; a rival buys; SIGCONT",
			Break: stopPastHold,
		},
		{
			Name: "rolling-restart", What: "every replica is told to end (SIGTERM) and started again, one by one, with 2,000 sockets open",
			Clients: func(c *Config) { c.Watchers = 2000 },
			Break:   rollingRestart,
		},
	}
}

// onConfirm does something to the first of the replicas that is sent a confirm, within 3 ms of its sending.
func (r *Run) onConfirm(ctx context.Context, do func(*fleet.Replica) error) (*fleet.Replica, error) {
	byURL := map[string]*fleet.Replica{}
	for _, replica := range r.Fleet.Replicas() {
		if replica.Alive() {
			byURL[replica.URL()] = replica
		}
	}
	hit := make(chan *fleet.Replica, 1)
	r.WhenSending(func(kind history.Kind, url string) {
		if kind != history.Confirm || byURL[url] == nil {
			return
		}
		select {
		case hit <- byURL[url]:
		default:
		}
	})
	defer r.WhenSending(nil)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case replica := <-hit:
		if err := r.Wait(ctx, r.Between(100*time.Microsecond, 3*time.Millisecond)); err != nil {
			return nil, err
		}
		return replica, do(replica)
	}
}

func killConfirms(ctx context.Context, r *Run) error {
	for range 3 {
		replica, err := r.onConfirm(ctx, (*fleet.Replica).Kill)
		if err != nil {
			return err
		}
		r.Say("killed %s", replica.Name)
		if err := r.Wait(ctx, r.Between(500*time.Millisecond, 2*time.Second)); err != nil {
			return err
		}
		if err := replica.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func stopConfirms(ctx context.Context, r *Run) error {
	for range 2 {
		replica, err := r.onConfirm(ctx, func(replica *fleet.Replica) error { return replica.Pause(ctx) })
		if err != nil {
			return err
		}
		r.Say("stopped %s", replica.Name)
		if err := r.Wait(ctx, r.Between(2*time.Second, 4*time.Second)); err != nil {
			return err
		}
		if err := replica.Resume(); err != nil {
			return err
		}
	}
	return nil
}

// stopPastHold is one story, told with hands: someone holds and confirms at a replica that is stopped before it can act;
// the hold ends; a rival buys the same seats elsewhere; the replica goes on.
func stopPastHold(ctx context.Context, r *Run) error {
	slow, quick := r.Fleet.Replica(0), r.Fleet.Replica(1)
	first, err := r.Customer(ctx, slow.URL())
	if err != nil {
		return err
	}
	defer first.Close()
	rival, err := r.Customer(ctx, quick.URL())
	if err != nil {
		return err
	}
	defer rival.Close()
	showing, seats, err := r.FreeSeats(ctx, first.API, quick.URL(), 2)
	if err != nil {
		return err
	}
	held, err := first.Hold(ctx, showing, seats)
	if err != nil || held.Status != 201 {
		return fmt.Errorf("the hold was not given: %v %w", held, err)
	}
	if err := slow.Pause(ctx); err != nil {
		return err
	}
	late := make(chan client.Answer, 1)
	go func() {
		answer, _ := first.Confirm(ctx) // without an answer it is none that was promised
		late <- answer
	}()
	if err := r.Wait(ctx, time.Until(held.Booking.ExpiresAt)+50*time.Millisecond); err != nil {
		return err
	}
	second, err := rival.Hold(ctx, showing, seats)
	r.Expect(err == nil && second.Status == 201, judge.NoTwoOwners, "a rival was refused seats whose hold had ended: %v %v", second, err)
	if second.Status == 201 {
		sold, err := rival.Confirm(ctx)
		r.Expect(err == nil && sold.Status == 200, judge.NothingLost, "the rival's confirm was refused: %v %v", sold, err)
	}
	if err := slow.Resume(); err != nil {
		return err
	}
	answer := <-late
	r.Expect(answer.Status == 410 && answer.Problem == "hold-expired", judge.NoTwoOwners,
		"the confirm of a hold that ended was answered %v, want 410 hold-expired", answer)
	return nil
}

func rollingRestart(ctx context.Context, r *Run) error {
	for _, replica := range r.Fleet.Replicas() {
		began := time.Now()
		code, err := replica.Terminate(ctx)
		if err != nil {
			return err
		}
		took := time.Since(began)
		r.Say("%s ended with %d after %v", replica.Name, code, took)
		r.Expect(code == 0 && took <= 15*time.Second, AsPromised, "%s ended with %d after %v, want 0 within 15 s", replica.Name, code, took)
		if err := replica.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}
