package auth

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a client sends, it is either refused or has exactly one spelling.
func FuzzHashOf(f *testing.F) {
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\nA")
	f.Add("-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	f.Fuzz(func(t *testing.T, token string) {
		h, ok := hashOf(token)
		if !ok {
			require.Equal(t, hash{}, h)
			return
		}
		secret, err := base64.RawURLEncoding.DecodeString(token)
		require.NoError(t, err)
		require.Len(t, secret, tokenBytes)
		require.Equal(t, token, base64.RawURLEncoding.EncodeToString(secret))
		secret[0] ^= 1
		other, ok := hashOf(base64.RawURLEncoding.EncodeToString(secret))
		require.True(t, ok)
		require.NotEqual(t, h, other)
	})
}
