package seatmap

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
)

// Snapshot is a showing's whole map at a seq. It is shared: nobody changes it.
type Snapshot struct {
	Showing uuid.UUID
	Log     string
	Seq     int64
	// Stale says that the map may be old: the log can't be reached.
	Stale bool
	// Seats is a JSON object with the status of every seat, in the layout's order.
	Seats json.RawMessage
	// ETag is a strong one, with its quotes, made of Log, Seq and Stale.
	ETag string

	body *body
}

// body is the answer to GET seats, made when it is first asked for.
type body struct {
	plain, zipped func() []byte
}

// JSON is the body of GET /showings/{id}/seats, encoded once for all who ask.
func (s Snapshot) JSON() []byte { return s.body.plain() }

// Gzip is JSON, compressed once for all who ask.
func (s Snapshot) Gzip() []byte { return s.body.zipped() }

// encoded is a snapshot of which the bodies can be had.
func encoded(s Snapshot, z *zipper) *Snapshot {
	s.ETag = etag(s.Log, s.Seq, s.Stale)
	bare := s
	plain := sync.OnceValue(func() []byte { return encodeBody(bare) })
	s.body = &body{plain: plain, zipped: sync.OnceValue(func() []byte { return z.compress(plain()) })}
	return &s
}

func etag(log string, seq int64, stale bool) string {
	tag := `"` + log + "-" + strconv.FormatInt(seq, 10)
	if stale {
		tag += "-stale"
	}
	return tag + `"`
}

func encodeBody(s Snapshot) []byte {
	b := make([]byte, 0, len(s.Seats)+160)
	b = append(b, `{"showing":"`...)
	b = append(b, s.Showing.String()...)
	b = append(b, `","log":`...)
	b = appendString(b, s.Log)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, s.Seq, 10)
	b = append(b, `,"stale":`...)
	b = strconv.AppendBool(b, s.Stale)
	b = append(b, `,"seats":`...)
	b = append(b, s.Seats...)
	return append(b, '}')
}

// zipper compresses. A compressor is large, so they are used again.
type zipper struct{ pool sync.Pool }

func (z *zipper) compress(plain []byte) []byte {
	var out bytes.Buffer
	w, ok := z.pool.Get().(*gzip.Writer)
	if !ok {
		w = gzip.NewWriter(&out)
	}
	w.Reset(&out)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(plain)
	_ = w.Close()
	z.pool.Put(w)
	return out.Bytes()
}

// encodeSeats is a JSON object of all seats in order.
func encodeSeats(codes []booking.Seat, status []booking.Status) json.RawMessage {
	b := make([]byte, 0, 24*len(codes)+2)
	b = append(b, '{')
	for i, code := range codes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, string(code))
		b = append(b, ':')
		b = appendString(b, string(status[i]))
	}
	return append(b, '}')
}

// appendString appends text as a JSON string. Seat codes and statuses seldom need escapes.
func appendString(b []byte, text string) []byte {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(text)
			if err != nil {
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
