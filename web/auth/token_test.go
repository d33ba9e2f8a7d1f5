package auth

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensOfOursAreTokens(t *testing.T) {
	t.Parallel()
	seen := map[hash]bool{}
	for range 1000 {
		h, ok := hashOf(newToken())
		require.True(t, ok)
		require.False(t, seen[h])
		seen[h] = true
	}
}

// Whatever a client sends, it is either refused or has exactly one spelling.
func FuzzHashOf(f *testing.F) {
	f.Add("")
	f.Add(newToken())
	f.Add(newToken() + "\n")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB")
	f.Fuzz(func(t *testing.T, token string) {
		_, ok := hashOf(token)
		if !ok {
			return
		}
		secret, err := base64.RawURLEncoding.DecodeString(token)
		require.NoError(t, err)
		require.Len(t, secret, tokenBytes)
		require.Equal(t, token, base64.RawURLEncoding.EncodeToString(secret))
	})
}
