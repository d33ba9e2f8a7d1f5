package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Showing is a film in an auditorium at a time, as far as clients need it.
type Showing struct {
	ID       uuid.UUID `json:"id"`
	StartsAt time.Time `json:"starts_at"`
	Sales    struct {
		State string `json:"state"` // scheduled, open, closed, cancelled
	} `json:"sales"`
	Seats struct {
		Total     int `json:"total"`
		Available int `json:"available"`
	} `json:"seats"`
}

// Showings reads the showings that the replica at url knows, by their start.
func (a *API) Showings(ctx context.Context, url string) ([]Showing, error) {
	var answered struct {
		Showings []Showing `json:"showings"`
	}
	if err := a.get(ctx, url, "/showings", &answered); err != nil {
		return nil, err
	}
	return answered.Showings, nil
}

// LayoutSeat is a seat's place in its auditorium.
type LayoutSeat struct {
	Seat string  `json:"seat"` // its code
	Row  string  `json:"row"`
	X    float64 `json:"x"`
}

// Layout reads the seats of a showing.
func (a *API) Layout(ctx context.Context, url string, showing uuid.UUID) ([]LayoutSeat, error) {
	var answered struct {
		Seats []LayoutSeat `json:"seats"`
	}
	if err := a.get(ctx, url, "/showings/"+showing.String()+"/layout", &answered); err != nil {
		return nil, err
	}
	return answered.Seats, nil
}

// SeatMap is the status of every seat of a showing at a seq.
type SeatMap struct {
	Showing uuid.UUID         `json:"showing"`
	Log     string            `json:"log"`
	Seq     int64             `json:"seq"`
	Stale   bool              `json:"stale"`
	Seats   map[string]string `json:"seats"` // available, held, sold, blocked
	ETag    string            `json:"-"`
}

// Seats reads a showing's map. With the ETag of an earlier one it returns nil where nothing has changed since.
func (a *API) Seats(ctx context.Context, url string, showing uuid.UUID, etag string) (*SeatMap, error) {
	path := "/showings/" + showing.String() + "/seats"
	r, err := a.do(ctx, url, call{method: http.MethodGet, path: path, etag: etag})
	if err != nil {
		return nil, err
	}
	if r.status == http.StatusNotModified && etag != "" {
		return nil, nil //nolint:nilnil // nothing new is no error, and is documented
	}
	if r.status != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %w", path, unexpected(r))
	}
	seats := SeatMap{ETag: r.header.Get("ETag")}
	if err := json.Unmarshal(r.body, &seats); err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return &seats, nil
}

func (a *API) get(ctx context.Context, url, path string, into any) error {
	r, err := a.do(ctx, url, call{method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	if r.status != http.StatusOK {
		return fmt.Errorf("GET %s: %w", path, unexpected(r))
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// house is a showing that is open for sale, with its seats as clients know them. It never changes and is shared.
type house struct {
	showing uuid.UUID
	seats   []string       // row by row, neighbours beside each other
	row     []int          // the row of each of seats
	index   map[string]int // of a code in seats
}

// programme reads every open showing with its layout; where a replica fails it asks the next one, until ctx ends.
func programme(ctx context.Context, api *API, replicas func() []string) ([]*house, error) {
	var pause backoff
	for attempt := 0; ; attempt++ {
		houses, err := readProgramme(ctx, api, nth(replicas(), attempt))
		if err == nil && len(houses) > 0 {
			return houses, nil
		}
		if wait(ctx, pause.next(50*time.Millisecond, time.Second)) != nil {
			return nil, fmt.Errorf("no showing is open for sale by the end: %w", cmp.Or(err, ctx.Err()))
		}
	}
}

func readProgramme(ctx context.Context, api *API, url string) ([]*house, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	showings, err := api.Showings(ctx, url)
	if err != nil {
		return nil, err
	}
	var houses []*house
	for i := range showings {
		if showings[i].Sales.State != "open" {
			continue
		}
		layout, err := api.Layout(ctx, url, showings[i].ID)
		if err != nil {
			return nil, err
		}
		houses = append(houses, newHouse(showings[i].ID, layout))
	}
	return houses, nil
}

func newHouse(showing uuid.UUID, layout []LayoutSeat) *house {
	layout = slices.Clone(layout)
	slices.SortStableFunc(layout, func(a, b LayoutSeat) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.X, b.X))
	})
	h := &house{showing: showing, index: make(map[string]int, len(layout))}
	row := 0
	for i, seat := range layout {
		if i > 0 && layout[i-1].Row != seat.Row {
			row++
		}
		h.index[seat.Seat] = len(h.seats)
		h.seats = append(h.seats, seat.Seat)
		h.row = append(h.row, row)
	}
	return h
}
