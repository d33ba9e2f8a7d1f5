package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/seatmap"
	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/web/api"
	"github.com/aislehq/aisle/web/auth"
)

// Site is the public HTTP handler on top of the engine, without live sockets.
func (e *Engine) Site() (http.Handler, error) {
	sessions, err := auth.NewSessions(e.pool, auth.Config{Logger: e.cfg.Logger})
	if err != nil {
		return nil, err
	}
	return api.New(api.Config{Logger: e.cfg.Logger}, api.Deps{
		Bookings: e.service, Catalogue: e.catalogue, Maps: maps{e.live}, Sessions: sessions, Live: noSockets{},
		KeyUsed: func(context.Context, uuid.UUID, string) (bool, error) { return false, nil },
	})
}

// maps serves the live maps to web/api.
type maps struct{ live *seatmap.Live }

// Seats is api.Maps'.
func (m maps) Seats(ctx context.Context, showing uuid.UUID) (api.Seats, error) {
	open, err := m.live.Open(ctx, showing)
	switch {
	case errors.Is(err, seatmap.ErrUnknownShowing):
		return api.Seats{}, booking.ErrNotFound
	case err != nil:
		return api.Seats{}, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
	}
	defer open.Close()
	s := open.Snapshot()
	return api.Seats{ETag: s.ETag, JSON: s.JSON, Gzip: s.Gzip}, nil
}

// noSockets is a site without live sockets.
type noSockets struct{}

// Serve is api.Live's.
func (noSockets) Serve(w http.ResponseWriter, _ *http.Request, _ realtime.Client) {
	w.WriteHeader(http.StatusNotFound)
}

// EndSession is api.Live's.
func (noSockets) EndSession(uuid.UUID) {}
