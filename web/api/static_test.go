package api_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const script = "export const seats = 240; // " + "a long comment that compresses well, a long comment that compresses well"

func testUI() fs.FS {
	return fstest.MapFS{
		"index.html":                 {Data: []byte("<!doctype html><title>Aisle</title>")},
		"favicon.svg":                {Data: []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")},
		"assets/app-1a2b3c.js":       {Data: []byte(strings.Repeat(script, 20))},
		"assets/app-1a2b3c.css":      {Data: []byte("body{}")},
		"docs/web-components.min.js": {Data: []byte("customElements")},
		"docs/styles.min.css":        {Data: []byte("a{}")},
	}
}

func TestTheApplication(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.ui = testUI() })
	page := "<!doctype html><title>Aisle</title>"
	for _, path := range []string{"/", "/showings/5f9f1f2e-0000-4000-8000-000000000000", "/bookings", "/some/other/page", "/index.html"} {
		r := s.do(http.MethodGet, path, "", "Accept", "text/html,*/*;q=0.8")
		require.Equal(t, http.StatusOK, r.status, path)
		require.Equal(t, page, string(r.raw), path)
		require.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"), path)
		require.Equal(t, "no-cache", r.header.Get("Cache-Control"), path)
		again := s.do(http.MethodGet, path, "", "Accept", "text/html", "If-None-Match", r.header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.status)
		require.Empty(t, again.raw)
	}
	r := s.do(http.MethodGet, "/assets/app-1a2b3c.js", "")
	require.Equal(t, "public, max-age=31536000, immutable", r.header.Get("Cache-Control"))
	require.Equal(t, "text/javascript; charset=utf-8", r.header.Get("Content-Type"))
	plain := string(r.raw)
	require.Equal(t, strings.Repeat(script, 20), plain)
	zipped := s.do(http.MethodGet, "/assets/app-1a2b3c.js", "", "Accept-Encoding", "gzip")
	require.Less(t, len(zipped.raw), len(plain))
	require.Equal(t, plain, gunzip(t, zipped))
	require.Equal(t, "image/svg+xml", s.do(http.MethodGet, "/favicon.svg", "").header.Get("Content-Type"))
	head := s.do(http.MethodHead, "/", "", "Accept", "text/html")
	require.Equal(t, 200, head.status)
	require.Empty(t, head.raw)

	// A part that is missing is missing: a page in its place would be run or shown as what it isn't.
	for _, path := range []string{"/assets/app-old.js", "/assets/none", "/robots.txt", "/assets/../../go.mod", "/.env"} {
		s.do(http.MethodGet, path, "", "Accept", "*/*").problem(404, "not-found")
	}
	s.do(http.MethodGet, "/showings", "", "Accept", "application/json").problem(404, "not-found")
	s.do(http.MethodPost, "/showings", "").problem(404, "not-found")
	s.do(http.MethodGet, "/api/nothing", "", "Accept", "text/html").problem(404, "not-found")
}

func TestTheDocumentation(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.ui = testUI() })
	r := s.do(http.MethodGet, "/api/docs", "")
	require.Equal(t, 200, r.status)
	require.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"))
	html := string(r.raw)
	require.NotContains(t, html, "://", "no outside asset")
	require.NotRegexp(t, `<script[^>]*>[^<]`, html, "no inline script")
	require.Contains(t, html, `apiDescriptionUrl="/api/v1/openapi.json"`)
	for _, asset := range []string{"/api/docs/assets/web-components.min.js", "/api/docs/assets/styles.min.css"} {
		require.Contains(t, html, asset)
		require.Equal(t, 200, s.do(http.MethodGet, asset, "").status)
	}
	s.do(http.MethodGet, "/api/docs/assets/index.html", "").problem(404, "not-found")
	s.do(http.MethodGet, "/api/docs/assets/..%2findex.html", "").problem(404, "not-found")
}

func TestEachKindOfProblemIsExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, slug := range []string{
		"malformed", "unauthenticated", "cross-origin", "not-found", "method-not-allowed", "seats-unavailable", "booking-not-held",
		"hold-expired", "booking-exists", "sales-closed", "too-large", "unknown-seat", "too-many-seats", "invalid-request",
		"request-in-flight", "idempotency-mismatch", "upgrade-required", "rate-limited", "internal", "unavailable", "outcome-unknown",
	} {
		r := s.do(http.MethodGet, "/problems/"+slug, "")
		require.Equal(t, 200, r.status, slug)
		require.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"))
		require.Contains(t, string(r.raw), slug)
	}
	s.do(http.MethodGet, "/problems/none", "").problem(404, "not-found")
}

func TestTheServedDocumentIsTheWrittenOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(set *settings) { set.api.Version = "1" })
	r := s.do(http.MethodGet, "/api/v1/openapi.json", "", "Accept-Encoding", "gzip")
	require.Equal(t, 200, r.status)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	reader, err := gzip.NewReader(bytes.NewReader(r.raw))
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.Equal(t, golden(t), gunzip(t, r))
}
