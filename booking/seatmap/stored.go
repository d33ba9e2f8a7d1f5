package seatmap

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/eventstore"
)

// storedFormat names the layout of the snapshot's hash and of the state in it. A snapshot of another
// format is treated as if it weren't there.
const storedFormat = "1"

// The fields of a snapshot's hash; the scripts use the same names.
const (
	fieldFormat   = "format"
	fieldEpoch    = "epoch"
	fieldLog      = "log"
	fieldSeq      = "seq"
	fieldEvent    = "event"
	fieldTaken    = "taken"
	fieldDeadline = "deadline"
	fieldState    = "state"
)

// errFormat: the snapshot was written by another version.
var errFormat = errors.New("snapshot has another format")

// header is a stored snapshot without the state.
type header struct {
	epoch    int64
	log      string
	position eventstore.Position
	// taken is how many seats are not available.
	taken int
	// deadline is the next end of a hold; zero for none.
	deadline time.Time
}

// stored is a snapshot as Redis keeps it.
type stored struct {
	header
	state *booking.State
}

// headerFields are what decodeHeader needs.
func headerFields() []string {
	return []string{fieldFormat, fieldEpoch, fieldLog, fieldSeq, fieldEvent, fieldTaken, fieldDeadline}
}

func decodeHeader(fields map[string]string) (header, error) {
	if fields[fieldFormat] != storedFormat {
		return header{}, errFormat
	}
	var h header
	var err, errs error
	h.epoch, err = strconv.ParseInt(fields[fieldEpoch], 10, 64)
	errs = errors.Join(errs, err)
	h.position.Seq, err = strconv.ParseInt(fields[fieldSeq], 10, 64)
	errs = errors.Join(errs, err)
	h.position.Event, err = uuid.Parse(fields[fieldEvent])
	errs = errors.Join(errs, err)
	h.taken, err = strconv.Atoi(fields[fieldTaken])
	errs = errors.Join(errs, err)
	h.deadline, err = decodeDeadline(fields[fieldDeadline])
	errs = errors.Join(errs, err)
	if errs != nil {
		return header{}, fmt.Errorf("snapshot: %w", errs)
	}
	h.log = fields[fieldLog]
	if !isLog(h.log) || h.epoch < 0 || h.position.Seq < 1 || h.taken < 0 {
		return header{}, errors.New("snapshot: field out of range")
	}
	return h, nil
}

// decodeStored reads a snapshot's hash. Redis may hold anything under the key: what isn't consistent is
// an error, and the caller goes to the log.
func decodeStored(fields map[string]string) (stored, error) {
	h, err := decodeHeader(fields)
	if err != nil {
		return stored{}, err
	}
	state := booking.NewState()
	if err := json.Unmarshal([]byte(fields[fieldState]), state); err != nil {
		return stored{}, fmt.Errorf("snapshot: %w", err)
	}
	if state.Position() != h.position {
		return stored{}, errors.New("snapshot: state is of another seq than its header")
	}
	if state.Seats == nil || state.Bookings == nil {
		return stored{}, errors.New("snapshot: state is incomplete")
	}
	for seat, s := range state.Seats {
		if s.Seq < 1 || s.Seq > state.Seq || !s.Status.Known() {
			return stored{}, fmt.Errorf("snapshot: seat %q makes no sense", seat)
		}
	}
	return stored{header: h, state: state}, nil
}

// maxLogID is the longest id of a log, in bytes. Clients send it back, and it stands in a header (ETag).
const maxLogID = 64

// isLog says whether the text can be a log's id: letters, digits and dashes.
func isLog(text string) bool {
	if text == "" || len(text) > maxLogID {
		return false
	}
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
		default:
			return false
		}
	}
	return true
}

// encodeDeadline is Unix milliseconds, 0 for none.
func encodeDeadline(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func decodeDeadline(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms == 0 {
		return time.Time{}, err
	}
	return time.UnixMilli(ms).UTC(), nil
}
