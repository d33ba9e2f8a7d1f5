package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/cmd/aisle/app"
)

// One address holds as many live sockets as the setting says, and the next address has its own.
func TestSocketsOfAnAddress(t *testing.T) {
	t.Parallel()
	r := newHouse(t).start(t, func(c *app.Config) {
		c.MaxSocketsPerAddress = 2
		c.TrustedProxies = []string{"127.0.0.1"}
	})
	dial := func(address string) int {
		socket, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/api/v1/live",
			http.Header{"X-Forwarded-For": {address}})
		require.NotNil(t, answer, "%v", err)
		require.NoError(t, answer.Body.Close())
		if err == nil {
			t.Cleanup(func() { _ = socket.Close() })
		}
		return answer.StatusCode
	}
	for range 2 {
		require.Equal(t, http.StatusSwitchingProtocols, dial("203.0.113.7"))
	}
	require.Equal(t, http.StatusTooManyRequests, dial("203.0.113.7"))
	require.Equal(t, http.StatusSwitchingProtocols, dial("203.0.113.8"))
}
