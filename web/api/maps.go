package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/seatmap"
)

// liveMaps are the live maps of this replica.
type liveMaps struct{ live *seatmap.Live }

// LiveMaps makes Maps of a replica's live maps. A map that is asked for lingers in memory, so that the next
// one who asks finds it right.
func LiveMaps(live *seatmap.Live) Maps { return liveMaps{live: live} }

// Seats implements Maps.
func (m liveMaps) Seats(ctx context.Context, showing uuid.UUID) (Seats, error) {
	opened, err := m.live.Open(ctx, showing)
	if errors.Is(err, seatmap.ErrUnknownShowing) {
		return Seats{}, fmt.Errorf("%w: %w", booking.ErrNotFound, err)
	}
	if err != nil {
		return Seats{}, fmt.Errorf("%w: %w", booking.ErrUnavailable, err)
	}
	defer opened.Close()
	snapshot := opened.Snapshot()
	return Seats{ETag: snapshot.ETag, JSON: snapshot.JSON, Gzip: snapshot.Gzip}, nil
}
