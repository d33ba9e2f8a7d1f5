package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// What a call returns when there is no answer to read.
var (
	// ErrNotSent: no connection to the replica could be had, so it did nothing.
	ErrNotSent = errors.New("not sent")
	// ErrNoAnswer: the request may have reached the replica, and its answer did not come, or not whole.
	ErrNoAnswer = errors.New("no answer")
)

// maxBody bounds an answer's body, in bytes: a map of a large house is some 100 KiB.
const maxBody = 4 << 20

// API calls the HTTP API of any replica, over connections that it keeps. It is safe for concurrent use.
type API struct {
	http *http.Client
}

// NewAPI returns an API without connections; Close ends those it will have made.
func NewAPI() *API {
	dialer := &net.Dialer{Timeout: time.Second}
	return &API{http: &http.Client{
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConnsPerHost: 4096, // as many as there are clients at once
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that no call is using.
func (a *API) Close() { a.http.CloseIdleConnections() }

// call is one HTTP request.
type call struct {
	method, path string
	token        string // of a session, or ""
	key          string // Idempotency-Key, or ""
	etag         string // If-None-Match, or ""
	body         any    // nil: none
}

// reply is the raw answer to a call, read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// do sends c to the replica at base. Its errors are ErrNotSent and ErrNoAnswer, wrapped.
func (a *API) do(ctx context.Context, base string, c call) (reply, error) {
	var gotConnection atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Whatever happens from here on, bytes may have left.
		GotConn: func(httptrace.GotConnInfo) { gotConnection.Store(true) },
	})
	req, err := newRequest(ctx, base, c)
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w: %w", c.method, c.path, ErrNotSent, err)
	}
	res, err := a.http.Do(req)
	if err != nil {
		if !gotConnection.Load() {
			return reply{}, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return reply{}, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return reply{}, fmt.Errorf("%w: %s %s: read the body: %w", ErrNoAnswer, c.method, c.path, err)
	}
	return reply{status: res.StatusCode, header: res.Header, body: body}, nil
}

func newRequest(ctx context.Context, base string, c call) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		encoded, err := json.Marshal(c.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, strings.TrimSuffix(base, "/")+"/api/v1"+c.path, body)
	if err != nil {
		return nil, err
	}
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.key != "" {
		req.Header.Set("Idempotency-Key", c.key)
	}
	if c.etag != "" {
		req.Header.Set("If-None-Match", c.etag)
	}
	return req, nil
}

// Session is a customer to the box office: who has its token.
type Session struct {
	ID    uuid.UUID
	api   *API
	token string
}

// NewSession begins a session at the replica at url; it is good at all of them. Any answer but 201 is an error.
func (a *API) NewSession(ctx context.Context, url string) (Session, error) {
	r, err := a.do(ctx, url, call{method: http.MethodPost, path: "/sessions"})
	if err != nil {
		return Session{}, err
	}
	if r.status != http.StatusCreated {
		return Session{}, fmt.Errorf("POST /sessions: %w", unexpected(r))
	}
	var answered struct {
		Session uuid.UUID `json:"session"`
		Token   string    `json:"token"`
	}
	if err := json.Unmarshal(r.body, &answered); err != nil {
		return Session{}, fmt.Errorf("POST /sessions: %w", err)
	}
	return Session{ID: answered.Session, api: a, token: answered.Token}, nil
}

// StatusError is an answer with a status that the call had no use for.
type StatusError struct {
	Status     int
	Problem    string        // slug, "" if the answer was no problem
	RetryAfter time.Duration // 0: not said
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d %s", e.Status, e.Problem) }

func unexpected(r reply) error {
	answer := decodeAnswer(r)
	return &StatusError{Status: answer.Status, Problem: answer.Problem, RetryAfter: answer.RetryAfter}
}

// retryAfter reads the header of that name in seconds, the only form the contract knows; 0 if there is none.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
