package auth

import (
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
