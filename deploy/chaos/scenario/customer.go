package scenario

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/deploy/chaos/client"
	"github.com/aislehq/aisle/deploy/chaos/history"
)

// byHand is the number of clients that a scenario moves by hand, in the record.
const byHand = -1

// Customer is one whom a scenario moves by hand: what she does is in the record like everybody's.
type Customer struct {
	API     *client.API
	run     *Run
	session client.Session
	url     string
	held    *client.Booking
	holdKey string
}

// Customer begins a session at the replica at url, which she stays with.
func (r *Run) Customer(ctx context.Context, url string) (*Customer, error) {
	api := client.NewAPI()
	session, err := api.NewSession(ctx, url)
	if err != nil {
		api.Close()
		return nil, err
	}
	return &Customer{API: api, run: r, session: session, url: url}, nil
}

// Close ends her connections.
func (c *Customer) Close() { c.API.Close() }

// Hold asks once for seats.
func (c *Customer) Hold(ctx context.Context, showing uuid.UUID, seats []string) (client.Answer, error) {
	c.holdKey = uuid.NewString()
	answer, err := c.do(ctx, history.Op{Kind: history.Hold, Showing: showing, Seats: seats, Key: c.holdKey}, client.Command{Showing: showing})
	if answer.OK() {
		c.held = answer.Booking
	}
	return answer, err
}

// Confirm asks once to buy what she holds.
func (c *Customer) Confirm(ctx context.Context) (client.Answer, error) {
	op := history.Op{Kind: history.Confirm, Showing: c.held.Showing, Seats: c.held.Seats, Booking: c.held.ID, Key: uuid.NewString()}
	return c.do(ctx, op, client.Command{Booking: c.held.ID})
}

func (c *Customer) do(ctx context.Context, op history.Op, command client.Command) (client.Answer, error) {
	command.Kind, command.Key = op.Kind, op.Key
	if op.Kind == history.Hold {
		command.Seats = op.Seats
	}
	op.Client, op.Session, op.Owner, op.Attempts = byHand, c.session.ID, c.session.ID.String()+"/"+c.holdKey, 1
	op.Call = time.Now()
	answer, err := c.session.Do(ctx, c.url, command)
	c.run.History.Add(client.Finished(op, answer, err))
	return answer, err
}
