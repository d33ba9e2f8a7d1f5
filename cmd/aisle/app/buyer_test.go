package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/realtime/realtimetest"
)

// buyer is a customer who knows only the public API.
type buyer struct {
	t     *testing.T
	url   string
	token string
	// patient customers insist.
	patient bool
}

type bookingBody struct {
	ID    uuid.UUID `json:"id"`
	State string    `json:"state"`
	Seats []string  `json:"seats"`
	Seq   int64     `json:"seq"`
}

type seatsBody struct {
	Log   string            `json:"log"`
	Seq   int64             `json:"seq"`
	Stale bool              `json:"stale"`
	Seats map[string]string `json:"seats"`
}

func newBuyer(t *testing.T, r *replica) *buyer {
	t.Helper()
	b := &buyer{t: t, url: r.url}
	var session struct{ Token string }
	require.Equal(t, http.StatusCreated, b.insist(http.MethodPost, "/sessions", "", "", &session))
	b.token = session.Token
	return b
}

// at is the same customer at another replica.
func (b *buyer) at(r *replica) *buyer {
	return &buyer{t: b.t, url: r.url, token: b.token, patient: b.patient}
}

// call sends one request and returns its status; a body of 2xx goes into answer.
func (b *buyer) call(method, path, key, body string, answer any) int {
	b.t.Helper()
	status, raw := b.try(method, path, key, body)
	if status/100 == 2 && answer != nil {
		require.NoError(b.t, json.Unmarshal(raw, answer), "%s", raw)
	}
	return status
}

// send is call, or insist.
func (b *buyer) send(method, path, key, body string, answer any) int {
	b.t.Helper()
	if b.patient {
		return b.insist(method, path, key, body, answer)
	}
	return b.call(method, path, key, body, answer)
}

// insist is call for a busy hour: as the contract asks of clients, it sends the same request again, with the same
// key, while the answer is 503.
func (b *buyer) insist(method, path, key, body string, answer any) int {
	b.t.Helper()
	for end := time.Now().Add(patience); ; {
		status := b.call(method, path, key, body, answer)
		if status != http.StatusServiceUnavailable || time.Now().After(end) {
			return status
		}
		<-time.After(100 * time.Millisecond)
	}
}

// try sends one request. Status 0 means that no answer came.
func (b *buyer) try(method, path, key, body string) (int, []byte) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(b.t.Context()), method, b.url+"/api/v1"+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if b.token != "" {
		request.Header.Set("Authorization", "Bearer "+b.token)
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return response.StatusCode, answer
}

func (b *buyer) hold(showing uuid.UUID, seats ...string) (bookingBody, int) {
	b.t.Helper()
	body, err := json.Marshal(map[string][]string{"seats": seats})
	require.NoError(b.t, err)
	var held bookingBody
	status := b.send(http.MethodPost, "/showings/"+showing.String()+"/bookings", uuid.NewString(), string(body), &held)
	return held, status
}

func (b *buyer) confirm(id uuid.UUID) (bookingBody, int) {
	b.t.Helper()
	var sold bookingBody
	status := b.send(http.MethodPost, "/bookings/"+id.String()+"/confirm", uuid.NewString(), "", &sold)
	return sold, status
}

func (b *buyer) seats(showing uuid.UUID) (seatsBody, int) {
	b.t.Helper()
	var seats seatsBody
	status := b.call(http.MethodGet, "/showings/"+showing.String()+"/seats", "", "", &seats)
	return seats, status
}

// watch opens a live socket at the showing.
func (b *buyer) watch(ctx context.Context, showing uuid.UUID) *realtimetest.Client {
	b.t.Helper()
	header := http.Header{}
	if b.token != "" {
		header.Set("Authorization", "Bearer "+b.token)
	}
	client, err := realtimetest.Dial(ctx, "ws"+strings.TrimPrefix(b.url, "http")+"/api/v1/live", realtimetest.Options{Header: header})
	require.NoError(b.t, err)
	b.t.Cleanup(client.Close)
	require.NoError(b.t, client.Subscribe(showing))
	return client
}
