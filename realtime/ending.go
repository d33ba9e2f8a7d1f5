package realtime

import (
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// Close codes of our own, beside 1001 (draining), 1008 (a message we don't take) and 1009 (one
// that is too large). Each of them follows a bye that says the same in words.
const (
	// CloseSlow: the client read too slowly.
	CloseSlow = 4001
	// CloseIdle: the client was silent for too long.
	CloseIdle = 4002
	// CloseSessionEnded: the session was ended.
	CloseSessionEnded = 4003
)

// Reasons, as byes and metrics name them.
const (
	reasonDraining     = "draining"
	reasonSlow         = "slow"
	reasonIdle         = "idle"
	reasonSessionEnded = "session-ended"
	reasonBadMessage   = "bad-message"
	reasonTooBig       = "too-big"
	reasonClient       = "client"
)

// ending is how a connection ends: why, and the last frames to send.
type ending struct {
	reason string
	frames []*frame
}

func bye(reason string, code int, retryAfter time.Duration) ending {
	return ending{reason: reason, frames: []*frame{byeFrame(reason, retryAfter), closeFrame(code, reason)}}
}

func byeDraining(retryAfter time.Duration) ending {
	return bye(reasonDraining, websocket.CloseGoingAway, retryAfter)
}

// byeSlow keeps the client away for a moment: what made it slow is likely to last.
func byeSlow() ending {
	return bye(reasonSlow, CloseSlow, time.Second+jitter(time.Second))
}

func byeIdle() ending { return bye(reasonIdle, CloseIdle, 0) }

func byeSessionEnded() ending { return bye(reasonSessionEnded, CloseSessionEnded, 0) }

// badEnd answers what the protocol does not know, on either of its levels.
func badEnd(detail string) ending {
	return ending{reason: reasonBadMessage, frames: []*frame{
		errorFrame(codeBadMessage, detail, uuid.Nil),
		closeFrame(websocket.ClosePolicyViolation, reasonBadMessage),
	}}
}

func tooBigEnd() ending {
	return ending{reason: reasonTooBig, frames: []*frame{closeFrame(websocket.CloseMessageTooBig, reasonTooBig)}}
}

// echoEnd completes the closing that the client began; where the line just ended nobody listens.
func echoEnd(code int) ending {
	if code == websocket.CloseAbnormalClosure {
		return brokenEnd()
	}
	return ending{reason: reasonClient, frames: []*frame{closeFrame(code, "")}}
}

func brokenEnd() ending { return ending{reason: reasonClient} }

// jitter is a random part of d.
func jitter(d time.Duration) time.Duration {
	return rand.N(d) //nolint:gosec // Spreading out clients needs no secret.
}
