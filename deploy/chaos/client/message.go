package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// message is one message of the server's, decoded as far as watchers need it. It costs no garbage: a thousand watchers
// share two cores with the servers. Its byte slices lie in the buffer that was decoded, and live as long as that.
type message struct {
	kind       []byte
	showing    []byte
	log        []byte
	reason     []byte // of a bye
	code       []byte // of an error
	seats      []byte // the raw object; nil: absent
	prev       int64  // -1: absent
	seq        int64  // -1: absent
	retryAfter int64  // milliseconds
	stale      bool
	hasStale   bool
}

var (
	errNotJSON   = errors.New("not JSON")
	errNotObject = errors.New("not an object")
)

// decodeMessage reads data into m. Fields that it does not know are passed over; those that it knows must have their type.
func decodeMessage(data []byte, m *message) error {
	*m = message{prev: -1, seq: -1}
	if !json.Valid(data) {
		return errNotJSON
	}
	s := scanner{data: data}
	return s.object(func(name []byte) error {
		err := m.field(string(name), &s)
		if err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		return nil
	})
}

func (m *message) field(name string, s *scanner) (err error) {
	switch name {
	case "type":
		m.kind, err = s.text()
	case "showing":
		m.showing, err = s.text()
	case "log":
		m.log, err = s.text()
	case "reason":
		m.reason, err = s.text()
	case "code":
		m.code, err = s.text()
	case "prev":
		m.prev, err = s.count()
	case "seq":
		m.seq, err = s.count()
	case "retry_after_ms":
		m.retryAfter, err = s.count()
	case "stale":
		m.stale, err = s.boolean()
		m.hasStale = err == nil
	case "seats":
		if m.seats = s.value(); m.seats[0] != '{' {
			err = errNotObject
		}
	default:
		s.value()
	}
	return err
}

// eachSeat calls f with each seat of the message and its status, in their order, until f returns an error.
func (m *message) eachSeat(f func(seat, status []byte) error) error {
	s := scanner{data: m.seats}
	return s.object(func(seat []byte) error {
		status, err := s.text()
		if err != nil {
			return fmt.Errorf("seat %q: %w", seat, err)
		}
		return f(seat, status)
	})
}

// scanner walks over JSON that is known to be valid.
type scanner struct {
	data []byte
	at   int
}

// next is the first byte that is no space.
func (s *scanner) next() byte {
	for s.data[s.at] == ' ' || s.data[s.at] == '\t' || s.data[s.at] == '\n' || s.data[s.at] == '\r' {
		s.at++
	}
	return s.data[s.at]
}

// object calls member with each name; member takes the value.
func (s *scanner) object(member func(name []byte) error) error {
	if s.next() != '{' {
		return errNotObject
	}
	s.at++
	for s.next() != '}' {
		if s.data[s.at] == ',' {
			s.at++
			s.next()
		}
		name, err := s.text()
		if err != nil {
			return err
		}
		s.next() // the colon
		s.at++
		if err := member(name); err != nil {
			return err
		}
	}
	s.at++
	return nil
}

// text takes a string.
func (s *scanner) text() ([]byte, error) {
	raw := s.value()
	if raw[0] != '"' {
		return nil, fmt.Errorf("not a string: %.40s", raw)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	var unescaped string
	if err := json.Unmarshal(raw, &unescaped); err != nil {
		return nil, err
	}
	return []byte(unescaped), nil
}

// count takes a whole number, 0 or above.
func (s *scanner) count() (int64, error) {
	raw := s.value()
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("not a number of things: %.40s", raw)
	}
	return n, nil
}

func (s *scanner) boolean() (bool, error) {
	switch raw := s.value(); string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, fmt.Errorf("neither true nor false: %.40s", raw)
	}
}

// value takes any value, and returns its text.
func (s *scanner) value() []byte {
	first := s.next()
	start := s.at
	switch first {
	case '"':
		s.skipText()
	case '{', '[':
		s.skipNested()
	default:
		for s.at < len(s.data) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(s.data[s.at])) {
			s.at++
		}
	}
	return s.data[start:s.at]
}

func (s *scanner) skipText() {
	for s.at++; s.data[s.at] != '"'; s.at++ {
		if s.data[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}

func (s *scanner) skipNested() {
	for depth := 0; ; {
		switch s.data[s.at] {
		case '"':
			s.skipText()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}
