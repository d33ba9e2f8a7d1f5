package realtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// command is one message from a client, understood.
type command struct {
	kind    commandKind
	showing uuid.UUID
	resume  resume
}

type commandKind int

const (
	commandSubscribe commandKind = iota + 1
	commandUnsubscribe
	commandPing
)

// resume is where a client says it stopped; no log means that it starts anew.
type resume struct {
	log   string
	since int64
}

// badMessageError is what is wrong with a client's message, in words for its author.
type badMessageError struct{ detail string }

func (e *badMessageError) Error() string { return "realtime: bad message: " + e.detail }

func badMessage(format string, args ...any) error {
	return &badMessageError{detail: fmt.Sprintf(format, args...)}
}

// maxLogBytes bounds the log's id in a subscribe: longer ones are none of ours.
const maxLogBytes = 64

// decodeCommand understands one text message. It returns a *badMessageError for everything that is
// not exactly one message of the protocol, and ErrUnknownShowing
// for a showing that can't exist.
func decodeCommand(data []byte) (command, error) {
	var fields struct {
		Type    string  `json:"type"`
		Showing *string `json:"showing"`
		Log     *string `json:"log"`
		Since   *int64  `json:"since"`
	}
	if !utf8.Valid(data) {
		return command{}, badMessage("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&fields); err != nil {
		return command{}, badMessage("%s", unreadable(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return command{}, badMessage("more than one JSON value")
	}

	switch fields.Type {
	case "ping":
		if fields.Showing != nil || fields.Log != nil || fields.Since != nil {
			return command{}, badMessage("ping takes no other field")
		}
		return command{kind: commandPing}, nil
	case "unsubscribe":
		if fields.Log != nil || fields.Since != nil {
			return command{}, badMessage("unsubscribe takes only a showing")
		}
		showing, err := decodeShowing(fields.Showing)
		return command{kind: commandUnsubscribe, showing: showing}, err
	case "subscribe":
		from, err := decodeResume(fields.Log, fields.Since)
		if err != nil {
			return command{}, err
		}
		showing, err := decodeShowing(fields.Showing)
		return command{kind: commandSubscribe, showing: showing, resume: from}, err
	default:
		return command{}, badMessage("unknown type")
	}
}

// unreadable says in the protocol's words why the decoder stopped: its own speak of our types.
func unreadable(err error) string {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return mistyped.Field + " has the wrong JSON type"
	case errors.As(err, &mistyped):
		return "not a JSON object"
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return "unknown field"
	default:
		return "not JSON"
	}
}

// decodeShowing takes a UUID as the server writes it. Any other text names no showing.
func decodeShowing(text *string) (uuid.UUID, error) {
	if text == nil {
		return uuid.Nil, badMessage("showing is missing")
	}
	showing, err := uuid.Parse(*text)
	if err != nil || len(*text) != len(uuid.Nil.String()) {
		return uuid.Nil, ErrUnknownShowing
	}
	return showing, nil
}

// decodeResume wants both the log and the seq; one alone says nothing, and the client starts anew.
func decodeResume(log *string, since *int64) (resume, error) {
	if log != nil && len(*log) > maxLogBytes {
		return resume{}, badMessage("log is longer than %d bytes", maxLogBytes)
	}
	if since != nil && *since < 0 {
		return resume{}, badMessage("since is negative")
	}
	if log == nil || since == nil {
		return resume{}, nil
	}
	return resume{log: *log, since: *since}, nil
}
