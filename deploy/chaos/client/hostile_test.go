package client_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

// closing is an act that hears so many messages, and closes as told.
func closing(after int, message string, code int) func(p *player) {
	return func(p *player) {
		p.ws.SetReadLimit(4096)
		for range after {
			if _, _, err := p.ws.ReadMessage(); err != nil {
				return // the limit has said why
			}
		}
		if message != "" {
			p.say("%s", message)
		}
		_ = p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
		for {
			if _, _, err := p.ws.ReadMessage(); err != nil {
				return
			}
		}
	}
}

func TestHostileLinesEndAsTheyShould(t *testing.T) {
	t.Parallel()
	const badMessage = `{"type":"error","code":"bad-message"}`
	ctx := t.Context()

	ending, err := client.PingFlood(ctx, openStage(t, closing(21, badMessage, 1008)).o.urls[0])
	require.NoError(t, err)
	require.Equal(t, 1008, ending.Code)
	require.Equal(t, "bad-message", ending.Error)

	_, err = client.UnknownType(ctx, openStage(t, closing(1, badMessage, 1008)).o.urls[0])
	require.NoError(t, err)

	ending, err = client.Oversized(ctx, openStage(t, closing(1, "", 1000)).o.urls[0], 5000)
	require.NoError(t, err)
	require.Equal(t, 1009, ending.Code)

	ending, err = client.Bomb(ctx, openStage(t, closing(1, "", 1000)).o.urls[0], 1<<20)
	require.NoError(t, err)
	require.Equal(t, 1002, ending.Code)
}

func TestHostileLinesThatEndOtherwise(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := client.PingFlood(ctx, openStage(t, closing(21, "", 1008)).o.urls[0])
	require.ErrorIs(t, err, client.ErrWrongEnding, "no error before the close")

	_, err = client.UnknownType(ctx, openStage(t, closing(1, `{"type":"error","code":"bad-message"}`, 1000)).o.urls[0])
	require.ErrorIs(t, err, client.ErrWrongEnding)

	_, err = client.Oversized(ctx, openStage(t, func(p *player) { _ = p.ws.Close() }).o.urls[0], 5000)
	require.ErrorIs(t, err, client.ErrWrongEnding)
}

func TestAHostileLineThatIsLeftOpen(t *testing.T) {
	t.Parallel()
	s := openStage(t, func(p *player) { p.rest() })
	for name, hostile := range map[string]func(context.Context) (client.Ending, error){
		"floods": func(ctx context.Context) (client.Ending, error) { return client.PingFlood(ctx, s.o.urls[0]) },
		"stops reading": func(ctx context.Context) (client.Ending, error) {
			return client.StopsReading(ctx, s.o.urls[0], s.o.showing)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := hostile(ctx)
			require.ErrorIs(t, err, client.ErrStillOpen)
		})
	}
}

func TestWhoStopsReadingIsLetGo(t *testing.T) {
	t.Parallel()
	s := openStage(t, func(p *player) {
		p.expect("subscribe")
		p.bye(`{"type":"bye","reason":"slow","retry_after_ms":1000}`)
	})
	ending, err := client.StopsReading(t.Context(), s.o.urls[0], s.o.showing)
	require.NoError(t, err)
	require.Equal(t, "slow", ending.Bye)

	s = openStage(t, func(p *player) { p.bye(`{"type":"bye","reason":"idle","retry_after_ms":1000}`) })
	_, err = client.StopsReading(t.Context(), s.o.urls[0], s.o.showing)
	require.ErrorIs(t, err, client.ErrWrongEnding)
}

func TestAHostileClientNeedsAServer(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	_, err := client.UnknownType(t.Context(), o.urls[0])
	require.ErrorIs(t, err, websocket.ErrBadHandshake)
}
