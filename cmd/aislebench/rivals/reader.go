package rivals

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// MapKey is where the map of a showing lies in Redis for the reader.
func MapKey(showing uuid.UUID) string { return "map:" + showing.String() }

// Reader serves the seats of showings without keeping anything in memory:
//
//	GET /redis/{showing}      the finished document from Redis
//	GET /postgres/{showing}   made of the seats' rows
//	GET /nothing              an empty 200: what HTTP itself costs
//	GET /unchanged            an empty 304
func Reader(ctx context.Context, url string, client redis.UniversalClient) (http.Handler, func(), error) {
	s, err := open(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	r := chi.NewRouter()
	r.Get("/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	r.Get("/unchanged", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	r.Get("/redis/{showing}", func(w http.ResponseWriter, r *http.Request) {
		body, err := client.Get(r.Context(), "map:"+chi.URLParam(r, "showing")).Bytes()
		answer(w, body, err)
	})
	list := query("list_seats")
	r.Get("/postgres/{showing}", func(w http.ResponseWriter, r *http.Request) {
		body, err := s.document(r.Context(), list, chi.URLParam(r, "showing"))
		answer(w, body, err)
	})
	return r, s.Close, nil
}

func (s *store) document(ctx context.Context, list, id string) ([]byte, error) {
	showing, err := uuid.Parse(id)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, list, showing)
	if err != nil {
		return nil, err
	}
	seats := map[string]string{}
	var seat, status string
	_, err = pgx.ForEachRow(rows, []any{&seat, &status}, func() error {
		seats[seat] = status
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rivals: %w", err)
	}
	return json.Marshal(map[string]any{"showing": showing, "seats": seats})
}

func answer(w http.ResponseWriter, body []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) //nolint:gosec // JSON, and named so.
}
