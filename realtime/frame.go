package realtime

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// frame is one WebSocket message as it goes over the wire: header and payload, final, unmasked,
// not compressed. It is built once, shared by all sockets it goes to, and never changed.
type frame struct{ wire []byte }

// First bytes of a final frame: the kind of message it is.
const (
	finalText  = 0x81
	finalClose = 0x88
	finalPong  = 0x8A
)

// newFrame puts the header before a payload.
func newFrame(first byte, payload []byte) *frame {
	return &frame{wire: append(appendHeader(make([]byte, 0, headerSize(len(payload))+len(payload)), first, len(payload)), payload...)}
}

func headerSize(payload int) int {
	switch {
	case payload < 126:
		return 2
	case payload <= 0xFFFF:
		return 4
	default:
		return 10
	}
}

func appendHeader(to []byte, first byte, payload int) []byte {
	switch headerSize(payload) {
	case 2:
		return append(to, first, byte(payload)) //nolint:gosec // Below 126.
	case 4:
		return binary.BigEndian.AppendUint16(append(to, first, 126), uint16(payload)) //nolint:gosec // At most 0xFFFF.
	default:
		return binary.BigEndian.AppendUint64(append(to, first, 127), uint64(payload)) //nolint:gosec // Not negative.
	}
}

func pongFrame() *frame { return newFrame(finalText, []byte(`{"type":"pong"}`)) }

// protocolPong answers a WebSocket ping; its payload is at most 125 bytes.
func protocolPong(payload string) *frame { return newFrame(finalPong, []byte(payload)) }

func closeFrame(code int, text string) *frame {
	return newFrame(finalClose, websocket.FormatCloseMessage(code, text))
}

// snapshotFrame writes the message around the seats, which are JSON already: they may be large and
// are not looked at again.
func snapshotFrame(showing uuid.UUID, s Snapshot) *frame {
	var payload bytes.Buffer
	payload.Grow(160 + len(s.Seats))
	payload.WriteString(`{"type":"snapshot","showing":"`)
	payload.WriteString(showing.String())
	payload.WriteString(`","log":`)
	payload.Write(encode(s.Log))
	payload.WriteString(`,"seq":`)
	payload.WriteString(strconv.FormatInt(s.Seq, 10))
	payload.WriteString(`,"stale":`)
	payload.WriteString(strconv.FormatBool(s.Stale))
	payload.WriteString(`,"seats":`)
	payload.Write(s.Seats)
	payload.WriteByte('}')
	return newFrame(finalText, payload.Bytes())
}

func deltaFrame(showing uuid.UUID, d Delta) *frame {
	seats := d.Seats
	if seats == nil {
		seats = map[string]string{}
	}
	return textFrame(struct {
		Type    string            `json:"type"`
		Showing string            `json:"showing"`
		Prev    int64             `json:"prev"`
		Seq     int64             `json:"seq"`
		Seats   map[string]string `json:"seats"`
	}{"delta", showing.String(), d.Prev, d.Seq, seats})
}

func staleFrame(showing uuid.UUID, stale bool) *frame {
	return textFrame(struct {
		Type    string `json:"type"`
		Showing string `json:"showing"`
		Stale   bool   `json:"stale"`
	}{"stale", showing.String(), stale})
}

// bookingFrame carries a booking as the caller encoded it; it fails where that is not JSON.
func bookingFrame(booking json.RawMessage) (*frame, error) {
	payload, err := json.Marshal(struct {
		Type    string          `json:"type"`
		Booking json.RawMessage `json:"booking"`
	}{"booking", booking})
	if err != nil {
		return nil, fmt.Errorf("realtime: encode booking: %w", err)
	}
	return newFrame(finalText, payload), nil
}

// Codes of error messages.
const (
	codeUnknownShowing = "unknown-showing"
	codeBadMessage     = "bad-message"
	codeTooMany        = "too-many-subscriptions"
)

// errorFrame says what is wrong; about showing, where it is about one.
func errorFrame(code, detail string, showing uuid.UUID) *frame {
	about := ""
	if showing != uuid.Nil {
		about = showing.String()
	}
	return textFrame(struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Detail  string `json:"detail"`
		Showing string `json:"showing,omitempty"`
	}{"error", code, detail, about})
}

func byeFrame(reason string, retryAfter time.Duration) *frame {
	return textFrame(struct {
		Type       string `json:"type"`
		Reason     string `json:"reason"`
		RetryAfter int64  `json:"retry_after_ms"`
	}{"bye", reason, retryAfter.Milliseconds()})
}

// textFrame encodes a message of strings, numbers and maps of these, which can't fail.
func textFrame(message any) *frame { return newFrame(finalText, encode(message)) }

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic("realtime: a message of ours can't be encoded: " + err.Error())
	}
	return data
}
