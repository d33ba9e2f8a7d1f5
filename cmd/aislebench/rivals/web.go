package rivals

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
)

// SessionHeader carries a client's session, which the thin handler believes.
const SessionHeader = "X-Session"

// Handler is the thinnest way to sell by HTTP: no sessions, no idempotency, no limits, no problem documents.
//
//	POST /showings/{showing}/bookings   ["F7","F8"]   201 {"id": …}, or 409
//	POST /bookings/{booking}/confirm                  200, or 409
func Handler(booker Booker) http.Handler {
	r := chi.NewRouter()
	r.Post("/showings/{id}/bookings", func(w http.ResponseWriter, r *http.Request) {
		session, showing, ok := ids(w, r)
		if !ok {
			return
		}
		var seats []string
		if err := json.NewDecoder(r.Body).Decode(&seats); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id, err := booker.Hold(r.Context(), session, showing, seats)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"` + id.String() + `"}`)) //nolint:gosec // JSON, and a UUID of our own.
	})
	r.Post("/bookings/{id}/confirm", func(w http.ResponseWriter, r *http.Request) {
		session, booking, ok := ids(w, r)
		if !ok {
			return
		}
		if err := booker.Confirm(r.Context(), session, booking); err != nil {
			refuse(w, err)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	return r
}

// ids are the session and the object of a request; it is answered when they can't be read.
func ids(w http.ResponseWriter, r *http.Request) (session, object uuid.UUID, ok bool) {
	session, err := uuid.Parse(r.Header.Get(SessionHeader))
	if err == nil {
		object, err = uuid.Parse(chi.URLParam(r, "id"))
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	return session, object, err == nil
}

func refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrTaken) || errors.Is(err, ErrNotHeld) {
		w.WriteHeader(http.StatusConflict)
		return
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
