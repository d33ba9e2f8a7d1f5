package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aislehq/aisle/cmd/aislebench/rivals"
	"github.com/aislehq/aisle/cmd/aislebench/rows"
	"github.com/aislehq/aisle/lock"
)

// rivalCommand is a rival's server: a process of its own, as `aisle serve` is.
type rivalCommand struct {
	Design      string `arg:"" help:"The rival, by its key, or 'reader'."`
	PostgresURL string `required:"" help:"Its database."`
	RedisURL    string `required:"" help:"The Redis."`
}

// headerTimeout bounds a request's header.
const headerTimeout = 5 * time.Second

// Run is the command; kong calls it.
func (c *rivalCommand) Run(ctx context.Context) error {
	client, err := lock.NewClient(c.RedisURL)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	handler, closeRival, err := c.handler(ctx, client)
	if err != nil {
		return err
	}
	defer closeRival()
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintln(os.Stdout, rows.ReadyLine+"http://"+listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (c *rivalCommand) handler(ctx context.Context, client redis.UniversalClient) (http.Handler, func(), error) {
	if c.Design == "reader" {
		return rivals.Reader(ctx, c.PostgresURL, client)
	}
	for _, design := range rivals.All() {
		if design.Key != c.Design {
			continue
		}
		booker, err := design.Open(ctx, c.PostgresURL, client)
		if err != nil {
			return nil, nil, err
		}
		return rivals.Handler(booker), booker.Close, nil
	}
	return nil, nil, fmt.Errorf("there is no rival %q", c.Design)
}
