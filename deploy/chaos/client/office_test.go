package client_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// office is a box office of one process and two addresses, which keeps the contract as far as a client's tests need it.
type office struct {
	holdFor time.Duration
	showing uuid.UUID
	urls    []string
	mux     *http.ServeMux // what is right

	// before, if set, may answer a request itself (true); it stands for everything that is wrong with a server.
	before func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	seq      int64
	seats    map[string]string
	bookings map[uuid.UUID]*booking
	answers  map[string]answer // by session and key
	sessions map[string]uuid.UUID
}

type booking struct {
	ID        uuid.UUID  `json:"id"`
	Showing   uuid.UUID  `json:"showing"`
	State     string     `json:"state"`
	Seats     []string   `json:"seats"`
	ExpiresAt *time.Time `json:"expires_at"`
	Now       time.Time  `json:"now"`
	Seq       int64      `json:"seq"`
}

// answer is a status with a body, of a booking or a problem.
type answer struct {
	status int
	body   any
}

func problem(status int, slug string, more map[string]any) answer {
	body := map[string]any{"type": "/problems/" + slug, "title": slug, "status": status, "detail": slug}
	maps.Copy(body, more)
	return answer{status: status, body: body}
}

// openOffice has 10 rows of 10 seats, and closes with the test.
func openOffice(t *testing.T, before func(w http.ResponseWriter, r *http.Request) bool) *office {
	t.Helper()
	o := &office{
		holdFor: time.Minute, showing: uuid.New(), before: before,
		seats: make(map[string]string), bookings: make(map[uuid.UUID]*booking), answers: make(map[string]answer), sessions: make(map[string]uuid.UUID),
	}
	for _, seat := range officeSeats() {
		o.seats[seat] = "available"
	}
	o.mux = o.routes()
	for range 2 {
		server := httptest.NewServer(o)
		t.Cleanup(server.Close)
		o.urls = append(o.urls, server.URL)
	}
	return o
}

func (o *office) replicas() []string { return o.urls }

func officeSeats() []string {
	var seats []string
	for _, row := range "ABCDEFGHIJ" {
		for number := range 10 {
			seats = append(seats, fmt.Sprintf("%c%d", row, number+1))
		}
	}
	return seats
}

func (o *office) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/showings", o.listShowings)
	mux.HandleFunc("GET /api/v1/showings/{id}/layout", o.layout)
	mux.HandleFunc("GET /api/v1/showings/{id}/seats", o.seatMap)
	mux.HandleFunc("POST /api/v1/sessions", o.newSession)
	mux.HandleFunc("GET /api/v1/bookings/{id}", o.readBooking)
	mux.HandleFunc("POST /api/v1/showings/{id}/bookings", o.command(o.hold))
	mux.HandleFunc("POST /api/v1/bookings/{id}/seats", o.command(o.add))
	mux.HandleFunc("DELETE /api/v1/bookings/{id}/seats/{seat}", o.command(o.giveBack))
	mux.HandleFunc("POST /api/v1/bookings/{id}/confirm", o.command(o.confirm))
	mux.HandleFunc("DELETE /api/v1/bookings/{id}", o.command(o.release))
	return mux
}

// ServeHTTP is the office with its faults.
func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.before == nil || !o.before(w, r) {
		o.mux.ServeHTTP(w, r)
	}
}

func say(w http.ResponseWriter, a answer) {
	w.WriteHeader(a.status)
	if a.body != nil {
		if err := json.NewEncoder(w).Encode(a.body); err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
	}
}

func (o *office) listShowings(w http.ResponseWriter, _ *http.Request) {
	open := map[string]any{"id": o.showing, "starts_at": time.Now(), "sales": map[string]any{"state": "open"}}
	closed := map[string]any{"id": uuid.New(), "starts_at": time.Now(), "sales": map[string]any{"state": "closed"}}
	say(w, answer{200, map[string]any{"showings": []any{closed, open}}})
}

func (o *office) layout(w http.ResponseWriter, _ *http.Request) {
	var seats []any
	for i, seat := range officeSeats() {
		seats = append(seats, map[string]any{"seat": seat, "row": seat[:1], "x": i % 10})
	}
	say(w, answer{200, map[string]any{"showing": o.showing, "seats": seats}})
}

func (o *office) seatMap(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	etag := fmt.Sprintf("%q", fmt.Sprint("log-", o.seq))
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("ETag", etag)
	say(w, answer{200, map[string]any{"showing": o.showing, "log": "log", "seq": o.seq, "stale": false, "seats": o.seats}})
}

func (o *office) newSession(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	session := uuid.New()
	o.sessions["Bearer "+session.String()] = session
	say(w, answer{201, map[string]any{"session": session, "token": session.String()}})
}

func (o *office) readBooking(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	say(w, answer{200, o.bookings[uuid.MustParse(r.PathValue("id"))].shown()})
}

// command gives a key the answer it was given before, if it was done.
func (o *office) command(do func(r *http.Request) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		session, ok := o.sessions[r.Header.Get("Authorization")]
		key := r.Header.Get("Idempotency-Key")
		if !ok || key == "" {
			say(w, problem(http.StatusUnauthorized, "unauthenticated", nil))
			return
		}
		key = session.String() + "/" + key
		a, ok := o.answers[key]
		if !ok {
			if a = do(r); a.status < 300 {
				o.answers[key] = a
			}
		}
		say(w, a)
	}
}

func askedFor(r *http.Request) []string {
	var body struct {
		Seats []string `json:"seats"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	return body.Seats
}

// claim takes the seats for b, or says why not.
func (o *office) claim(b *booking, seats []string) *answer {
	o.expire()
	var taken []any
	for _, seat := range seats {
		if o.seats[seat] != "available" {
			taken = append(taken, map[string]any{"seat": seat, "status": o.seats[seat]})
		}
	}
	if len(taken) > 0 {
		a := problem(http.StatusConflict, "seats-unavailable", map[string]any{"seats": taken})
		return &a
	}
	b.Seats = append(b.Seats, seats...)
	o.mark(seats, "held")
	return nil
}

func (o *office) mark(seats []string, status string) {
	for _, seat := range seats {
		o.seats[seat] = status
	}
}

func (o *office) expire() {
	for _, b := range o.bookings {
		if b.State == "held" && !time.Now().Before(*b.ExpiresAt) {
			o.mark(b.Seats, "available")
			b.State, b.Seats = "expired", nil
		}
	}
}

// changed answers the booking as it is now.
func (o *office) changed(status int, b *booking) answer {
	o.seq++
	b.Seq = o.seq
	return answer{status, b.shown()}
}

// shown is a copy of the booking as the contract shows it.
func (b *booking) shown() booking {
	shown := *b
	shown.Now, shown.Seats = time.Now(), append([]string{}, b.Seats...)
	if b.State != "held" {
		shown.ExpiresAt = nil
	}
	return shown
}

func (o *office) hold(r *http.Request) answer {
	expires := time.Now().Add(o.holdFor)
	b := &booking{ID: uuid.New(), Showing: o.showing, State: "held", ExpiresAt: &expires}
	if refusal := o.claim(b, askedFor(r)); refusal != nil {
		return *refusal
	}
	o.bookings[b.ID] = b
	return o.changed(http.StatusCreated, b)
}

// held is the booking that r is about, if it is held.
func (o *office) held(r *http.Request) (*booking, *answer) {
	o.expire()
	b := o.bookings[uuid.MustParse(r.PathValue("id"))]
	var refusal answer
	switch {
	case b == nil:
		refusal = problem(http.StatusNotFound, "not-found", nil)
	case b.State == "expired":
		refusal = problem(http.StatusGone, "hold-expired", nil)
	case b.State != "held":
		refusal = problem(http.StatusConflict, "booking-not-held", map[string]any{"state": b.State})
	default:
		return b, nil
	}
	return nil, &refusal
}

func (o *office) add(r *http.Request) answer {
	b, refusal := o.held(r)
	if refusal == nil {
		refusal = o.claim(b, askedFor(r))
	}
	if refusal != nil {
		return *refusal
	}
	return o.changed(http.StatusOK, b)
}

func (o *office) giveBack(r *http.Request) answer {
	b, refusal := o.held(r)
	if refusal != nil {
		return *refusal
	}
	seat := r.PathValue("seat")
	o.seats[seat] = "available"
	b.Seats = strings.Fields(strings.Replace(" "+strings.Join(b.Seats, " ")+" ", " "+seat+" ", " ", 1))
	if len(b.Seats) == 0 {
		b.State = "released"
	}
	return o.changed(http.StatusOK, b)
}

func (o *office) confirm(r *http.Request) answer {
	b, refusal := o.held(r)
	if refusal != nil {
		return *refusal
	}
	b.State = "confirmed"
	o.mark(b.Seats, "sold")
	return o.changed(http.StatusOK, b)
}

func (o *office) release(r *http.Request) answer {
	b, refusal := o.held(r)
	if refusal != nil {
		return *refusal
	}
	b.State = "released"
	o.mark(b.Seats, "available")
	o.changed(http.StatusOK, b)
	return answer{status: http.StatusNoContent}
}
