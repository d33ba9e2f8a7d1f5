package lock

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is kept secret by it.
	_ "embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
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

// byName puts a call into a pipeline, trusting that the server knows it.
func byName(ctx context.Context, pipe redis.Pipeliner, c *call) *redis.Cmd {
	return pipe.EvalSha(ctx, c.script.sha, []string{c.key}, c.args...)
}

// inFull puts a call into a pipeline with its text, which the server then knows.
func inFull(ctx context.Context, pipe redis.Pipeliner, c *call) *redis.Cmd {
	return pipe.Eval(ctx, c.script.source, []string{c.key}, c.args...)
}
