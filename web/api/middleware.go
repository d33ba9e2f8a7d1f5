package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// maxRequestID is the longest X-Request-Id that is taken from a client.
const maxRequestID = 64

// identify names the request and finds out who is at the other end.
func (s *server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := &request{id: r.Header.Get("X-Request-Id")}
		if !validRequestID(info.id) {
			info.id = uuid.NewString()
		}
		info.address, info.https = s.proxies.client(r)
		info.https = info.https || s.cfg.publicHTTPS()
		w.Header().Set("X-Request-Id", info.id)
		next.ServeHTTP(w, withRequest(r, info))
	})
}

// validRequestID keeps what a client may write into our log harmless and short.
func validRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// observe writes the access log, which has neither tokens nor addresses, and counts the request.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer s.observed(wrapped, r, start)
		next.ServeHTTP(wrapped, r)
	})
}

func (s *server) observed(w middleware.WrapResponseWriter, r *http.Request, start time.Time) {
	took := time.Since(start)
	status := w.Status()
	if status == 0 {
		status = http.StatusOK
		if websocket.IsWebSocketUpgrade(r) {
			status = http.StatusSwitchingProtocols // the socket has taken the line over
		}
	}
	ctx := r.Context()
	route := chi.RouteContext(ctx).RoutePattern()
	if s.deps.Observe != nil {
		s.deps.Observe(route, r.Method, status, took)
	}
	level := slog.LevelInfo
	if !strings.HasPrefix(route, basePath) {
		level = slog.LevelDebug // pages and their parts
	}
	s.cfg.Logger.LogAttrs(ctx, level, "request",
		slog.String("request", requestOf(ctx).id), slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", status), slog.Int("bytes", w.BytesWritten()), slog.Duration("took", took))
}

// recover turns a panic into a 500 for this request alone.
func (s *server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.caught(w, r)
		next.ServeHTTP(w, r)
	})
}

func (s *server) caught(w http.ResponseWriter, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler { //nolint:errorlint // panic values are compared as they are
		panic(value)
	}
	s.cfg.Logger.ErrorContext(r.Context(), "a handler panicked",
		slog.String("request", requestOf(r.Context()).id), slog.String("panic", fmt.Sprint(value)),
		slog.String("stack", string(debug.Stack())))
	if wrapped, ok := w.(middleware.WrapResponseWriter); ok && wrapped.Status() != 0 {
		panic(http.ErrAbortHandler) // too late for an answer: cut the line, so that nobody takes half for whole
	}
	problemOf(fmt.Errorf("panic: %v", value)).write(w)
}

// secure sets the headers that keep browsers careful. A handler may loosen them for its own page.
func (s *server) secure(next http.Handler) http.Handler {
	policy := contentPolicy(s.cfg.PublicURL, "")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if s.cfg.publicHTTPS() {
			h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		next.ServeHTTP(w, r)
	})
}

// contentPolicy is the Content-Security-Policy: nothing from elsewhere, nothing inline. styles loosens the
// styles of one page.
func contentPolicy(publicURL, styles string) string {
	connect := "connect-src 'self'"
	if host, ok := strings.CutPrefix(publicURL, "https://"); ok {
		connect += " wss://" + host // older browsers don't take a socket for 'self'
	} else if host, ok := strings.CutPrefix(publicURL, "http://"); ok {
		connect += " ws://" + host
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'" + styles, "img-src 'self' data:", "font-src 'self'",
		connect, "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
	}, "; ")
}

// timeout bounds the work on a request.
func (s *server) timeout(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.cfg.RequestTimeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// acceptsGzip says whether a client takes gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		weight, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		if !ok {
			return true
		}
		q, err := strconv.ParseFloat(weight, 64)
		return err == nil && q > 0
	}
	return false
}

// matches says whether If-None-Match has the tag.
func matches(header, tag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for part := range strings.SplitSeq(header, ",") {
		if strings.TrimPrefix(strings.TrimSpace(part), "W/") == tag {
			return true
		}
	}
	return false
}

// notFound answers what no route has: a problem under /api, a page elsewhere.
func (s *server) notFound(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") || !s.static.serve(w, r) {
		notFound().write(w)
	}
}

func (s *server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.URL.RawPath != "" {
		path = r.URL.RawPath // that is what chi routes by
	}
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		routes := chi.RouteContext(r.Context()).Routes
		if routes != nil && routes.Match(chi.NewRouteContext(), method, path) {
			allow = append(allow, method)
		}
	}
	newProblem(kindMethod, "This address doesn't take "+r.Method+".").
		header("Allow", strings.Join(allow, ", ")).write(w)
}
