package client

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// ErrStillOpen: the server had not ended the line when the context ended.
var ErrStillOpen = errors.New("the line is still open")

// Ending is how a server ended a line.
type Ending struct {
	Code  int           // of the close frame; 0 if none came through
	Error string        // code of the error message before it; "" if none
	Bye   string        // reason of the bye before it; "" if none
	Took  time.Duration // from the last thing sent that is wrong
}

// StopsReading subscribes to a showing and reads no more, until the server gives up on the line.
func StopsReading(ctx context.Context, url string, showing uuid.UUID) (Ending, error) {
	return Ending{}, ctx.Err()
}

// PingFlood sends far more messages a second than a client may.
func PingFlood(ctx context.Context, url string) (Ending, error) { return Ending{}, ctx.Err() }

// UnknownType sends a message that the protocol does not know.
func UnknownType(ctx context.Context, url string) (Ending, error) { return Ending{}, ctx.Err() }

// Oversized sends one message of size bytes, more than the 4 KiB a client may.
func Oversized(ctx context.Context, url string, size int) (Ending, error) { return Ending{}, ctx.Err() }

// Bomb sends a small compressed frame that unpacks to size bytes.
func Bomb(ctx context.Context, url string, size int) (Ending, error) { return Ending{}, ctx.Err() }
