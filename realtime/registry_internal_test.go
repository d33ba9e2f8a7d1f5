package realtime

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Addresses and sessions come and go for as long as a server runs: none leaves anything behind.
func TestNothingIsKeptOfThoseWhoAreGone(t *testing.T) {
	t.Parallel()
	h, err := NewHub(Config{MaxSocketsPerAddress: 3}, nil)
	require.NoError(t, err)
	require.True(t, h.begin(t.Context()))
	client := Client{Session: uuid.New(), Address: "192.0.2.7"}
	var sockets []*conn
	for range 3 {
		require.Equal(t, refusedNot, h.reserve(client))
		c := &conn{hub: h, client: client}
		h.admit(c)
		sockets = append(sockets, c)
	}
	require.Equal(t, refusedAddress, h.reserve(client))
	h.giveUp(client, sockets[0])
	for _, c := range sockets[1:] {
		require.Equal(t, []uuid.UUID{client.Session}, h.Sessions())
		h.release(c)
	}
	require.Empty(t, h.addresses)
	require.Empty(t, h.sessions)
	require.Empty(t, h.conns)
	require.Zero(t, h.taken)
}
