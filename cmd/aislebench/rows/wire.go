package rows

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"
)

// wire is one client's connection: HTTP/1.1, one request at a time, kept alive. It does as little as a client can, so
// that what is measured is the servers; it isn't safe for concurrent use.
type wire struct {
	conn    net.Conn
	in      *bufio.Reader
	request bytes.Buffer
	body    bytes.Buffer
}

// wireTimeout bounds one request.
const wireTimeout = 20 * time.Second

func dial(ctx context.Context, address string) (*wire, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}, nil
}

func (w *wire) close() { _ = w.conn.Close() }

// do sends a request, whose header lines end in CRLF each, and reads the answer; the body is valid until the next call.
func (w *wire) do(method, path, header string, body []byte) (status int, answer []byte, err error) {
	if err := w.conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return 0, nil, err
	}
	w.request.Reset()
	fmt.Fprintf(&w.request, "%s %s HTTP/1.1\r\nHost: bench\r\n%s", method, path, header)
	if body != nil {
		fmt.Fprintf(&w.request, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	} else if method != "GET" {
		w.request.WriteString("Content-Length: 0\r\n")
	}
	w.request.WriteString("\r\n")
	w.request.Write(body)
	if _, err := w.conn.Write(w.request.Bytes()); err != nil {
		return 0, nil, err
	}
	return w.answer()
}

func (w *wire) answer() (status int, body []byte, err error) {
	first, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(first) < 12 {
		return 0, nil, fmt.Errorf("odd status line %q", first)
	}
	if status, err = strconv.Atoi(string(first[9:12])); err != nil {
		return 0, nil, fmt.Errorf("odd status line %q", first)
	}
	length, chunked, err := w.header()
	if err != nil {
		return 0, nil, err
	}
	w.body.Reset()
	switch {
	case chunked:
		if _, err := w.body.ReadFrom(httputil.NewChunkedReader(w.in)); err != nil {
			return 0, nil, err
		}
		_, err = w.in.ReadSlice('\n') // the empty line after the last chunk
	case length > 0 && status != 304:
		_, err = io.CopyN(&w.body, w.in, length)
	}
	return status, w.body.Bytes(), err
}

// header reads to the empty line, for what says how long the body is.
func (w *wire) header() (length int64, chunked bool, err error) {
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, chunked, nil
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return 0, false, fmt.Errorf("odd header line %q", line)
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, false, fmt.Errorf("odd length %q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		case bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")):
			return 0, false, errors.New("the server doesn't keep the connection")
		}
	}
}

// member is a string member of a flat JSON object, as these servers write it.
func member(object []byte, name string) (string, error) {
	_, rest, found := bytes.Cut(object, []byte(`"`+name+`":"`))
	value, _, ended := bytes.Cut(rest, []byte(`"`))
	if !found || !ended {
		return "", fmt.Errorf("no %q in %.200q", name, object)
	}
	return string(value), nil
}
