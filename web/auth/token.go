package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// tokenBytes is the size of a token's secret: 256 bits.
const tokenBytes = 32

// hash is the SHA-256 of a token: all that leaves this process.
type hash [sha256.Size]byte

// newToken makes a token, 43 characters of unpadded base64url.
func newToken() string {
	var secret [tokenBytes]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the process first
	return base64.RawURLEncoding.EncodeToString(secret[:])
}

// hashOf is the hash of a token; false when no token of ours can look like that.
func hashOf(token string) (hash, bool) {
	secret, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(secret) != tokenBytes || len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return hash{}, false
	}
	return sha256.Sum256([]byte(token)), true
}
