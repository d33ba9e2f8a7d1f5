package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/cmd/aislebench/engine"
	"github.com/aislehq/aisle/cmd/aislebench/measure"
	"github.com/aislehq/aisle/cmd/aislebench/rivals"
	"github.com/aislehq/aisle/eventstore"
)

// Web is the row of selling through HTTP: each contestant's server is a process of its own.
func Web(ctx context.Context, b *Bench) (report measure.Report, err error) {
	sites, err := b.sites(ctx)
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.close())
		}
	}()
	if err != nil {
		return measure.Report{}, err
	}
	contestants := make([]measure.Contestant, len(sites))
	for i, s := range sites {
		contestants[i] = measure.Contestant{Name: s.name, Round: func(ctx context.Context) (measure.Sample, error) {
			if err := s.redial(ctx); err != nil {
				return nil, err
			}
			h, err := s.nextHouse()
			if err != nil {
				return nil, err
			}
			return sell(ctx, func(client int) rivals.Booker { return s.clients[client] }, h, b.Round)
		}}
	}
	results, err := measure.Alternate(ctx, b.rounds(), contestants)
	if err != nil {
		return measure.Report{}, err
	}
	columns := append([]measure.Column{{Title: "bookings/s", Figure: measure.Rate}}, sellColumns("clients")...)
	columns = append(columns, measure.Column{Title: "server", Figure: measure.ServerCPU, Unit: measure.Cores})
	return measure.Report{
		Title: "Selling through HTTP",
		About: fmt.Sprintf(`The same work through HTTP/1.1 on %d connections that are kept alive, JSON in and out. Aisle is "aisle serve" with all that it does for
a request (sessions, Idempotency-Key, the OpenAPI checks, metrics); the rivals are the same engines behind the thinnest chi handler, without any of it. Each server is a process
of its own, the clients are this one, which also has the etcd in it.`, clients),
		Tables: []measure.Table{{Main: measure.Rate, Results: results, Ratios: sellingRatios(results, 5, 3, 0), Columns: columns}},
	}, nil
}

// site is one contestant's server with its clients.
type site struct {
	name   string
	server *server
	// houses are on sale, one for each round that is still to come.
	houses  []rivals.House
	clients []*webClient
}

func (s *site) nextHouse() (rivals.House, error) {
	if len(s.houses) == 0 {
		return rivals.House{}, errors.New("nothing is left on sale")
	}
	h := s.houses[0]
	s.houses = s.houses[1:]
	return h, s.look(h)
}

// look opens each showing's map, as somebody does for all that is on sale; only Aisle has maps.
func (s *site) look(h rivals.House) error {
	c := s.clients[0]
	if c.aisle == "" {
		return nil
	}
	for _, showing := range h.Showings {
		status, body, err := c.wire.do("GET", "/api/v1/showings/"+showing.String()+"/seats", "", nil)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("map of %s: status %d: %w: %.200s", showing, status, err, body)
		}
	}
	return nil
}

func (s *site) close() error {
	for _, c := range s.clients {
		c.Close()
	}
	return s.server.stop()
}

// sites starts all servers. What was started is returned with an error, too.
func (b *Bench) sites(ctx context.Context) (sites []*site, err error) {
	own, err := b.aisleSite(ctx)
	if own != nil {
		sites = append(sites, own)
	}
	if err != nil {
		return sites, err
	}
	for _, design := range b.rivals() {
		s, err := b.rivalSite(ctx, design)
		if s != nil {
			sites = append(sites, s)
		}
		if err != nil {
			return sites, fmt.Errorf("%s: %w", design.Name, err)
		}
	}
	return sites, nil
}

// split makes a house for each round of one big one.
func (b *Bench) split() (all rivals.House, houses []rivals.House) {
	turns := b.Measured + 1
	all = newHouse(turns*sellShowings, sellSeats)
	for i := range turns {
		houses = append(houses, rivals.House{Showings: all.Showings[i*sellShowings : (i+1)*sellShowings], Seats: all.Seats})
	}
	return all, houses
}

func (b *Bench) aisleSite(ctx context.Context) (*site, error) {
	url, err := b.database(ctx, "aisle")
	if err != nil {
		return nil, err
	}
	all, houses := b.split()
	if err := onSale(ctx, url, all); err != nil {
		return nil, err
	}
	server, err := b.serveAisle(ctx, url, fmt.Sprintf("web%d", b.databases))
	if err != nil {
		return nil, err
	}
	s := &site{name: ours, server: server, houses: houses}
	err = s.connect(ctx, func(c *webClient) error {
		status, body, err := c.wire.do("POST", "/api/v1/sessions", "", nil)
		if err != nil || status != http.StatusCreated {
			return fmt.Errorf("session: status %d: %w: %.200s", status, err, body)
		}
		c.aisle, err = member(body, "token")
		return err
	})
	return s, err
}

// onSale migrates a database and puts a house into it.
func onSale(ctx context.Context, url string, h rivals.House) error {
	if _, err := eventstore.Migrate(ctx, url, ""); err != nil {
		return err
	}
	pool, err := eventstore.NewPool(ctx, url, eventstore.PoolConfig{StatementTimeout: startWithin})
	if err != nil {
		return err
	}
	defer pool.Close()
	log, err := eventstore.Open(ctx, pool, eventstore.Config{})
	if err != nil {
		return err
	}
	return engine.Sell(ctx, pool, log, h)
}

func (b *Bench) rivalSite(ctx context.Context, design rivals.Design) (*site, error) {
	url, err := b.database(ctx, design.Key)
	if err != nil {
		return nil, err
	}
	server, err := b.serveRival(ctx, url, design.Key)
	if err != nil {
		return nil, err
	}
	s := &site{name: design.Name, server: server}
	booker, err := design.Open(ctx, url, b.Stores.Redis())
	if err != nil {
		return s, err
	}
	defer booker.Close()
	all, houses := b.split()
	s.houses = houses
	if err := booker.Prepare(ctx, all); err != nil {
		return s, err
	}
	err = s.connect(ctx, func(*webClient) error { return nil })
	return s, err
}

// connect opens all clients' connections; greet prepares each.
func (s *site) connect(ctx context.Context, greet func(*webClient) error) error {
	for range clients {
		w, err := dial(ctx, s.server.address)
		if err != nil {
			return err
		}
		c := &webClient{wire: w}
		s.clients = append(s.clients, c)
		if err := greet(c); err != nil {
			return err
		}
	}
	return nil
}

// redial gives all clients new connections: servers close those that stood idle while others had their turn.
func (s *site) redial(ctx context.Context) error {
	for _, c := range s.clients {
		w, err := dial(ctx, s.server.address)
		if err != nil {
			return err
		}
		c.wire.close()
		c.wire = w
	}
	return nil
}

// webClient is one client of a site: a Booker for one goroutine.
type webClient struct {
	wire *wire
	// aisle is the session's token at Aisle; empty at a rival's server.
	aisle string
}

// Prepare is Booker's: the site does it.
func (*webClient) Prepare(context.Context, rivals.House) error { return errors.ErrUnsupported }

// Hold is Booker's.
func (c *webClient) Hold(_ context.Context, session, showing uuid.UUID, seats []string) (uuid.UUID, error) {
	path, body := "/showings/"+showing.String()+"/bookings", any(seats)
	if c.aisle != "" {
		path, body = "/api/v1"+path, map[string][]string{"seats": seats}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return uuid.Nil, err
	}
	status, answer, err := c.wire.do("POST", path, c.header(session), text)
	switch {
	case err != nil:
		return uuid.Nil, err
	case status == http.StatusConflict:
		return uuid.Nil, rivals.ErrTaken
	case status != http.StatusCreated:
		return uuid.Nil, fmt.Errorf("hold: status %d: %.200s", status, answer)
	}
	id, err := member(answer, "id")
	if err != nil {
		return uuid.Nil, err
	}
	return uuid.Parse(id)
}

// Confirm is Booker's.
func (c *webClient) Confirm(_ context.Context, session, booking uuid.UUID) error {
	path := "/bookings/" + booking.String() + "/confirm"
	if c.aisle != "" {
		path = "/api/v1" + path
	}
	status, answer, err := c.wire.do("POST", path, c.header(session), nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("confirm: status %d: %.200s", status, answer)
	}
	return err
}

func (c *webClient) header(session uuid.UUID) string {
	if c.aisle == "" {
		return rivals.SessionHeader + ": " + session.String() + "\r\n"
	}
	return "Authorization: Bearer " + c.aisle + "\r\nIdempotency-Key: " + uuid.NewString() + "\r\n"
}

// Close is Booker's.
func (c *webClient) Close() { c.wire.close() }
