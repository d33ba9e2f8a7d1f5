package api

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// gzipFrom is the size from which compressing a file is worth it, in bytes.
const gzipFrom = 1024

// static is the browser application, in memory.
type static struct {
	files map[string]file
}

// file is one part of it.
type file struct {
	body        []byte
	gzip        func() []byte // nil: not worth it
	etag        string
	contentType string
	cache       string
}

// newStatic reads the application; nil means that there is none.
func newStatic(ui fs.FS) (*static, error) {
	s := &static{files: map[string]file{}}
	if ui == nil {
		return s, nil
	}
	err := fs.WalkDir(ui, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(ui, name)
		if err != nil {
			return err
		}
		s.files[name] = newFile(name, body)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("api: user interface: %w", err)
	}
	return s, nil
}

func newFile(name string, body []byte) file {
	f := file{body: body, etag: etagOf(body), contentType: mime.TypeByExtension(path.Ext(name)), cache: "no-cache"}
	if f.contentType == "" {
		f.contentType = http.DetectContentType(body)
	}
	if strings.HasPrefix(name, "assets/") {
		f.cache = "public, max-age=31536000, immutable" // their names carry a hash of what is in them
	}
	if len(body) >= gzipFrom && compressible(f.contentType) {
		f.gzip = sync.OnceValue(func() []byte { return gzipped(body) })
	}
	return f
}

func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind {
	case "application/javascript", "application/json", "application/manifest+json", "application/wasm", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}

// serve answers with a file, or with the application for a page of its own; false when there is neither.
func (s *static) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	f, ok := s.files[name]
	if !ok && isPage(r, name) {
		f, ok = s.files["index.html"]
	}
	if ok {
		f.write(w, r)
	}
	return ok
}

// isPage says that a browser goes to a page of the application, whose router knows which: not that a
// part of one is missing.
func isPage(r *http.Request, name string) bool {
	accept := r.Header.Get("Accept")
	wanted := accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*")
	return wanted && path.Ext(name) == "" && !strings.HasPrefix(name, "assets/") && !strings.HasPrefix(name, "problems/")
}

func (f file) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", f.cache)
	if f.gzip != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if matches(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	body := f.body
	if f.gzip != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = f.gzip()
	}
	_, _ = w.Write(body)
}

func gzipped(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(body)
	_ = w.Close()
	return out.Bytes()
}
