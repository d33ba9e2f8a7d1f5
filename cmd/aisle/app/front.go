package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/web/api"
	"github.com/aislehq/aisle/web/ops"
)

// runFront serves both listeners and the sockets until ctx ends; then it drains.
func (a *App) runFront(ctx context.Context, p *parts, public, private net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	outward := api.NewServer(p.public, a.logger)
	inward := ops.NewServer(p.private)

	// The ops listener outlives the drain: /readyz says "draining" while it lasts.
	drained := make(chan struct{})
	group.Go(func() error { return serve(inward, private) })
	group.Go(func() error {
		<-drained
		return inward.Close()
	})
	group.Go(func() error { return serve(outward, public) })
	group.Go(func() error {
		defer close(drained)
		return a.drain(ctx, outward, p)
	})
	group.Go(func() error { return a.announceReady(ctx, p) })
	return group.Wait()
}

// drain lets requests finish and sends the sockets away, once ctx has ended. The hub outlives ctx by
// its own drain.
func (a *App) drain(ctx context.Context, server *http.Server, p *parts) error {
	hub := make(chan error, 1)
	go func() { hub <- p.hub.Run(ctx) }()
	select {
	case err := <-hub:
		if ctx.Err() == nil {
			_ = server.Close()
			return fmt.Errorf("app: the hub ended: %w", err)
		}
		hub <- err
	case <-ctx.Done():
	}
	a.state.Store(ops.Draining)
	a.logger.InfoContext(ctx, "draining", slog.Int("sockets", p.hub.Sockets()))
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.drainPart())
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		a.logger.WarnContext(limit, "requests were cut off by the end of the drain", slog.Any("error", err))
		_ = server.Close()
	}
	return <-hub
}

func (a *App) announceReady(ctx context.Context, p *parts) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.hub.Ready():
	}
	a.state.CompareAndSwap(ops.Starting, ops.Ready)
	a.ready(p.url)
	return nil
}

func serve(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("app: serving %s: %w", listener.Addr(), err)
	}
	return nil
}
