package eventstore

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// verdict is one row of append_batch's result.
type verdict struct {
	kind   string
	first  int64
	head   *int64 // nil: no such stream
	at     time.Time
	detail []byte // JSON, nil for none
}

// errAgain is the verdict of a request that was refused for a hold which a later request of the same
// batch ended: nothing was done, and it has to be judged once more.
var errAgain = errors.New("eventstore: the other hold has just ended")

// result makes the caller's answer of a verdict.
func (v verdict) result(req *Request) (Result, error) {
	switch v.kind {
	case "p":
		return v.passed(req), nil
	case "r":
		return v.replayed(req)
	case "m":
		return Result{}, fmt.Errorf("%w: %s", ErrMismatch, req.Command.Route)
	case "s":
		return Result{}, fmt.Errorf("%w: %s", ErrNoStream, req.Stream)
	case "c":
		return Result{}, &CheckError{Check: failedCheck(req.Checks, v.at), Now: v.at.UTC()}
	case "g":
		return Result{}, v.guard()
	case "h":
		return Result{}, v.held()
	case "a":
		return Result{}, ErrAddressLimit
	default:
		return Result{}, fmt.Errorf("eventstore: unknown verdict %q", v.kind)
	}
}

func (v verdict) passed(req *Request) Result {
	now := v.at.UTC()
	events := make([]Event, len(req.Events))
	for i, e := range req.Events {
		events[i] = Event{
			Stream: req.Stream, Seq: v.first + int64(i), ID: e.ID, Entity: e.Entity, Prev: e.Prev,
			Type: e.Type, Data: e.Data, Deadline: e.Deadline.after(now), At: now,
		}
	}
	return Result{Events: events, Seq: v.first + int64(len(events)) - 1, Now: now}
}

// after is the instant of the deadline of an event appended at now; zero for none.
func (d Deadline) after(now time.Time) time.Time {
	if d.In > 0 {
		return now.Add(d.In)
	}
	return d.At.UTC()
}

func (v verdict) replayed(req *Request) (Result, error) {
	recorded, err := decodeRecorded(v.detail)
	if err != nil {
		return Result{}, err
	}
	return replay(req.Command, recorded, v.at.UTC())
}

// replay is the answer to a command whose first outcome is recorded.
func replay(c Command, recorded recordedRow, now time.Time) (Result, error) {
	r := recorded.recorded()
	if r.Route != c.Route || r.Body != c.Body {
		return Result{}, fmt.Errorf("%w: %s", ErrMismatch, c.Route)
	}
	return Result{Seq: r.Seq, Now: now, Replayed: &r}, nil
}

func (v verdict) guard() error {
	if v.head == nil {
		return errors.New("eventstore: a guard refused in no stream")
	}
	present, err := decodePresent(v.detail)
	if err != nil {
		return err
	}
	return &GuardError{Present: present, Seq: *v.head, Now: v.at.UTC()}
}

func (v verdict) held() error {
	if v.detail == nil {
		return errAgain
	}
	booking, event, err := decodeHeld(v.detail)
	if err != nil {
		return err
	}
	return &HeldError{Booking: booking, Event: event, Now: v.at.UTC()}
}

// recordedRow is a row of the table commands as row_to_json writes it.
type recordedRow struct {
	Session uuid.UUID `json:"session"`
	Key     string    `json:"key"`
	Route   string    `json:"route"`
	Body    byteaJSON `json:"body"`
	Booking uuid.UUID `json:"booking"`
	Status  int       `json:"status"`
	Stream  uuid.UUID `json:"stream"`
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
}

func (r recordedRow) recorded() Recorded {
	return Recorded{
		Command: Command{
			Session: r.Session, Key: r.Key, Route: r.Route, Body: r.Body,
			Booking: r.Booking, Status: r.Status,
		},
		Stream: r.Stream, Seq: r.Seq, At: r.At.UTC(),
	}
}

// byteaJSON is a 32-byte hash in PostgreSQL's text form of bytea, \x and hexadecimal digits.
type byteaJSON [32]byte

// UnmarshalJSON reads a JSON string with the text form in it.
func (b *byteaJSON) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("eventstore: bytea: %w", err)
	}
	digits, ok := strings.CutPrefix(text, `\x`)
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != len(b) {
		return errors.New("eventstore: not a 32-byte bytea")
	}
	copy(b[:], hash)
	return nil
}

// bookingRow is a row of the table bookings as row_to_json writes it.
type bookingRow struct {
	ID       uuid.UUID `json:"id"`
	Stream   uuid.UUID `json:"stream"`
	Session  uuid.UUID `json:"session"`
	Held     bool      `json:"held"`
	State    string    `json:"state"`
	Seats    int       `json:"seats"`
	Address  string    `json:"address"`
	Deadline time.Time `json:"deadline"`
	Seq      int64     `json:"seq"`
}

func (r bookingRow) booking() Booking {
	return Booking{
		ID: r.ID, Stream: r.Stream, Session: r.Session, Held: r.Held, State: r.State, Seats: r.Seats,
		Address: r.Address, Deadline: r.Deadline.UTC(), Seq: r.Seq,
	}
}

// decodeRecorded reads the detail of a replay.
func decodeRecorded(detail []byte) (recordedRow, error) {
	var row recordedRow
	if err := json.Unmarshal(detail, &row); err != nil {
		return recordedRow{}, fmt.Errorf("eventstore: recorded command: %w", err)
	}
	return row, nil
}

// decodePresent reads the detail of a refused guard: null when no changed entity has an event.
func decodePresent(detail []byte) ([]Event, error) {
	if detail == nil {
		return nil, nil
	}
	var present []Event
	if err := json.Unmarshal(detail, &present); err != nil {
		return nil, fmt.Errorf("eventstore: present events: %w", err)
	}
	for i := range present {
		present[i].inUTC()
	}
	return present, nil
}

// decodeHeld reads the detail of a request refused for another hold.
func decodeHeld(detail []byte) (Booking, Event, error) {
	var held struct {
		Booking bookingRow `json:"booking"`
		Event   Event      `json:"event"`
	}
	if err := json.Unmarshal(detail, &held); err != nil {
		return Booking{}, Event{}, fmt.Errorf("eventstore: other hold: %w", err)
	}
	held.Event.inUTC()
	return held.Booking.booking(), held.Event, nil
}

// inUTC makes times that name one instant also look the same.
func (e *Event) inUTC() {
	e.At = e.At.UTC()
	e.Deadline = e.Deadline.UTC()
}
