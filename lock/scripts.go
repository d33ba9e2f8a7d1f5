package lock

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is kept secret by it.
	_ "embed"
	"encoding/hex"
)

//go:embed acquire.lua
var acquireLua string

//go:embed renew.lua
var renewLua string

//go:embed release.lua
var releaseLua string

// script is one Lua script and the name that Redis knows it by once it has seen it.
type script struct {
	source string
	sha    string
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import.
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}
