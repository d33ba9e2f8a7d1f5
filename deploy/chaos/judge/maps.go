package judge

import (
	"context"
	_ "embed" // The queries lie beside their Go.
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

var (
	//go:embed queries/maps.sql
	mapsSQL string
	//go:embed queries/log.sql
	logSQL string
)

// available is the status of a seat without events.
const available = "available"

// Map is a showing's seats as the log says.
type Map struct {
	// Log is the log's id, Seq the showing's head, Event the id of the event there.
	Log   string
	Seq   int64
	Event uuid.UUID
	// Open says that the showing is still projected.
	Open bool
	// Seats has the status of each seat that ever changed; all others are available.
	Seats map[string]string
}

// status of a seat.
func (m Map) status(seat string) string {
	if status, ok := m.Seats[seat]; ok {
		return status
	}
	return available
}

// Maps are all showings' seats as the log has them at one moment.
func Maps(ctx context.Context, conn *pgx.Conn) (map[uuid.UUID]Map, error) {
	maps := map[uuid.UUID]Map{}
	err := atOnce(ctx, conn, func(tx pgx.Tx) error {
		log, err := logID(ctx, tx)
		if err != nil {
			return err
		}
		var showing uuid.UUID
		var row Map
		var seat, status string
		fields := []any{&showing, &row.Seq, &row.Event, &row.Open, &seat, &status}
		return each(ctx, tx, mapsSQL, fields, func() {
			m, ok := maps[showing]
			if !ok {
				m = Map{Log: log, Seq: row.Seq, Event: row.Event, Open: row.Open, Seats: map[string]string{}}
				maps[showing] = m
			}
			if seat != "" {
				m.Seats[seat] = status
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("judge: maps of the log: %w", err)
	}
	return maps, nil
}

// atOnce runs reads that all see the same moment.
func atOnce(ctx context.Context, conn *pgx.Conn, read func(pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, conn, options, read)
}

// logID is empty when no server has asked for it yet.
func logID(ctx context.Context, tx pgx.Tx) (string, error) {
	var id string
	err := tx.QueryRow(ctx, logSQL).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}
