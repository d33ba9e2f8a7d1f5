package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
)

const (
	// programmeSince is how far back the programme begins when nobody says: what runs now is still in it.
	programmeSince = 3 * time.Hour
	// countFor bounds the counting of seats for one answer: what isn't counted by then is shown as all there.
	countFor = time.Second
	// maxLayouts is how many encoded layouts are kept, and layoutFor how long one is believed.
	maxLayouts = 256
	layoutFor  = time.Minute
)

type filmJSON struct {
	Title string `json:"title"`
}

type auditoriumJSON struct {
	Name string `json:"name"`
}

type salesJSON struct {
	State    string    `json:"state" enum:"scheduled,open,closed,cancelled"`
	OpensAt  time.Time `json:"opens_at"`
	ClosesAt time.Time `json:"closes_at"`
}

type seatCountsJSON struct {
	Total     int `json:"total"`
	Available int `json:"available" doc:"As far as this replica knows; the seat map is exact."`
}

// showingJSON is a film in an auditorium at a time.
type showingJSON struct {
	ID         uuid.UUID      `json:"id" format:"uuid"`
	Film       filmJSON       `json:"film"`
	Auditorium auditoriumJSON `json:"auditorium"`
	Cinema     string         `json:"cinema"`
	StartsAt   time.Time      `json:"starts_at"`
	TimeZone   string         `json:"time_zone" example:"Europe/Zurich" doc:"The cinema's: its people read times in it."`
	Sales      salesJSON      `json:"sales"`
	Seats      seatCountsJSON `json:"seats"`
}

type programmeJSON struct {
	Showings []showingJSON `json:"showings" nullable:"false" doc:"By their start."`
}

type programmeInput struct {
	From string `query:"from" format:"date-time" doc:"The first start, inclusive. Default: three hours ago."`
	To   string `query:"to" format:"date-time" doc:"The last start, exclusive. Default: no end."`
}

type showingInput struct {
	ID string `path:"id" format:"uuid"`
}

type showingOutput struct {
	Cache string `header:"Cache-Control" hidden:"true"`
	Body  showingJSON
}

// layoutJSON is where a showing's seats are and what they cost.
type layoutJSON struct {
	Showing    uuid.UUID        `json:"showing" format:"uuid"`
	Seats      []layoutSeatJSON `json:"seats" nullable:"false"`
	Categories []categoryJSON   `json:"categories" nullable:"false"`
}

type layoutSeatJSON struct {
	Seat     booking.Seat `json:"seat" example:"F7"`
	Row      string       `json:"row" example:"F"`
	Number   string       `json:"number" example:"7"`
	X        float64      `json:"x"`
	Y        float64      `json:"y" doc:"Grows away from the screen."`
	Category uuid.UUID    `json:"category" format:"uuid"`
	Kind     string       `json:"kind" enum:"standard,wheelchair,companion,sofa"`
}

type categoryJSON struct {
	ID    uuid.UUID `json:"id" format:"uuid"`
	Name  string    `json:"name"`
	Price moneyJSON `json:"price"`
}

// seatMapJSON is the seat map, for the OpenAPI document: what is sent comes encoded from the live map.
type seatMapJSON struct {
	Showing uuid.UUID         `json:"showing" format:"uuid"`
	Log     string            `json:"log" doc:"The log that seq counts in."`
	Seq     int64             `json:"seq"`
	Stale   bool              `json:"stale" doc:"The map may be old: the log can't be reached."`
	Seats   map[string]status `json:"seats" doc:"Every seat, by its code."`
}

// status is a seat's, for the OpenAPI document.
type status string

// Schema lists the statuses, which a map's values can't say in a tag.
func (status) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString,
		Enum: []any{string(booking.Available), string(booking.Held), string(booking.Sold), string(booking.Blocked)},
	}
}

// bodyOutput is an answer that is written as it is.
type bodyOutput struct{ Body func(huma.Context) }

func (s *server) registerShowings() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"Showings"},
		}
	}
	programme := read("list-showings", "/showings", "The programme")
	s.describeEncoded(&programme, reflect.TypeFor[programmeJSON]())
	serve(s, programme, []kind{kindMalformed, kindInvalid}, s.programme)
	serve(s, read("get-showing", "/showings/{id}", "One showing"), []kind{kindNotFound, kindInvalid}, s.showing)
	layout := read("get-layout", "/showings/{id}/layout", "Where its seats are and what they cost")
	s.describeEncoded(&layout, reflect.TypeFor[layoutJSON]())
	serve(s, layout, []kind{kindNotFound, kindInvalid}, s.layout)
	seats := read("get-seats", "/showings/{id}/seats", "The seat map")
	s.describeEncoded(&seats, reflect.TypeFor[seatMapJSON]())
	serve(s, seats, []kind{kindNotFound, kindInvalid, kindUnavailable}, s.seats)
}

// describeEncoded describes an answer that is encoded before the handler runs, with its ETag.
func (s *server) describeEncoded(op *huma.Operation, body reflect.Type) {
	op.Parameters = []*huma.Param{{
		Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
	}}
	op.Responses = map[string]*huma.Response{
		"200": {
			Description: http.StatusText(http.StatusOK),
			Headers:     map[string]*huma.Param{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}}},
			Content: map[string]*huma.MediaType{
				"application/json": {Schema: s.huma.OpenAPI().Components.Schemas.Schema(body, true, "")},
			},
		},
		"304": {Description: http.StatusText(http.StatusNotModified)},
	}
}

func (s *server) programme(ctx context.Context, in *programmeInput) (*bodyOutput, error) {
	from, errFrom := instant(in.From, s.cfg.Now().Add(-programmeSince))
	to, errTo := instant(in.To, time.Time{})
	var errs []where
	if errFrom != nil {
		errs = append(errs, where{Location: "query.from", Message: "expected a time as in RFC 3339"})
	}
	if errTo != nil {
		errs = append(errs, where{Location: "query.to", Message: "expected a time as in RFC 3339"})
	}
	if len(errs) > 0 {
		return nil, invalidRequest(errs...)
	}
	all := s.deps.Catalogue.List(from, to)
	out := programmeJSON{Showings: make([]showingJSON, len(all))}
	ctx, cancel := context.WithTimeout(ctx, countFor)
	defer cancel()
	for i, showing := range all {
		out.Showings[i] = s.showingBody(ctx, showing)
	}
	plain, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return encoded(etagOf(plain), "no-cache",
		func() []byte { return plain }, func() []byte { return gzipped(plain) }), nil
}

func instant(text string, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	return time.Parse(time.RFC3339, text)
}

func (s *server) showing(ctx context.Context, in *showingInput) (*showingOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	showing, ok := s.deps.Catalogue.Showing(id)
	if !ok {
		return nil, booking.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, countFor)
	defer cancel()
	return &showingOutput{Cache: "no-cache", Body: s.showingBody(ctx, showing)}, nil
}

func (s *server) showingBody(ctx context.Context, c catalogue.Showing) showingJSON {
	out := showingJSON{
		ID: c.ID, Film: filmJSON{Title: c.FilmTitle}, Auditorium: auditoriumJSON{Name: c.AuditoriumName}, Cinema: c.CinemaName,
		StartsAt: utc(c.StartsAt), TimeZone: c.TimeZone,
		Sales: salesJSON{
			State: string(c.SalesState(s.cfg.Now())), OpensAt: utc(c.OpensAt), ClosesAt: utc(c.ClosesAt),
		},
		Seats: seatCountsJSON{Total: c.Total, Available: c.Total},
	}
	if s.deps.Available != nil {
		if available, ok := s.deps.Available(ctx, c.ID); ok {
			out.Seats.Available = available
		}
	}
	return out
}

// layoutBody is an encoded layout.
type layoutBody struct {
	etag        string
	plain, gzip []byte
	at          time.Time
}

func (s *server) layout(_ context.Context, in *showingInput) (*bodyOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	body, ok := s.layouts.GetIfPresent(id)
	if !ok || s.cfg.Now().Sub(body.at) > layoutFor {
		layout, ok := s.deps.Catalogue.Layout(id)
		if !ok {
			return nil, booking.ErrNotFound
		}
		var err error
		if body, err = encodeLayout(id, layout, s.cfg.Now()); err != nil {
			return nil, err
		}
		s.layouts.Set(id, body)
	}
	return encoded(body.etag, "public, max-age=86400",
		func() []byte { return body.plain }, func() []byte { return body.gzip }), nil
}

func encodeLayout(id uuid.UUID, layout catalogue.Layout, now time.Time) (layoutBody, error) {
	out := layoutJSON{
		Showing: id, Seats: make([]layoutSeatJSON, len(layout.Seats)), Categories: make([]categoryJSON, len(layout.Categories)),
	}
	for i, seat := range layout.Seats {
		out.Seats[i] = layoutSeatJSON{
			Seat: seat.Seat, Row: seat.Row, Number: seat.Number, X: seat.X, Y: seat.Y, Category: seat.Category, Kind: string(seat.Kind),
		}
	}
	for i, c := range layout.Categories {
		out.Categories[i] = categoryJSON{ID: c.ID, Name: c.Name, Price: moneyJSON{Amount: c.Price.Amount, Currency: c.Price.Currency}}
	}
	plain, err := json.Marshal(out)
	if err != nil {
		return layoutBody{}, err
	}
	return layoutBody{etag: etagOf(plain), plain: plain, gzip: gzipped(plain), at: now}, nil
}

// seats sends the map as the live map has it: encoded once for all who ask.
func (s *server) seats(ctx context.Context, in *showingInput) (*bodyOutput, error) {
	id, ok := parseID(in.ID)
	if !ok {
		return nil, booking.ErrNotFound
	}
	seats, err := s.deps.Maps.Seats(ctx, id)
	if err != nil {
		return nil, err
	}
	return encoded(seats.ETag, "no-cache", seats.JSON, seats.Gzip), nil
}

// encoded sends what is encoded already, compressed for those who take it, or 304 to those who have it.
func encoded(etag, cache string, plain, zipped func() []byte) *bodyOutput {
	return &bodyOutput{Body: func(ctx huma.Context) {
		r, w := humachi.Unwrap(ctx)
		h := w.Header()
		h.Set("ETag", etag)
		h.Set("Cache-Control", cache)
		h.Add("Vary", "Accept-Encoding")
		if matches(r.Header.Get("If-None-Match"), etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "application/json")
		body := plain
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			body = zipped
		}
		_, _ = w.Write(body())
	}}
}

func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
