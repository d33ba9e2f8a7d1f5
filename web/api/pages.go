package api

import (
	_ "embed"
	"html/template"
	"net/http"

	"github.com/go-chi/chi/v5"
)

var (
	//go:embed pages/docs.html
	docsHTML []byte
	//go:embed pages/problem.html
	problemHTML string
)

// docsPage shows the OpenAPI document. What it is shown with sets styles inline, so this page alone
// allows those; its scripts come from us like all others.
func (s *server) docsPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", contentPolicy(s.cfg.PublicURL, " 'unsafe-inline'"))
	newFile("docs.html", docsHTML).write(w, r)
}

func (s *server) docsAsset(w http.ResponseWriter, r *http.Request) {
	f, ok := s.static.files["docs/"+chi.URLParam(r, "file")]
	if !ok {
		notFound().write(w)
		return
	}
	f.write(w, r)
}

// problemPage explains a kind of problem to whoever follows its type.
func (s *server) problemPage(w http.ResponseWriter, r *http.Request) {
	slug := chi.URLParam(r, "slug")
	for _, k := range kinds() {
		if k.slug == slug {
			s.writeProblemPage(w, k)
			return
		}
	}
	notFound().write(w)
}

func (s *server) writeProblemPage(w http.ResponseWriter, k kind) {
	page, err := template.New("problem").Parse(problemHTML)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_ = page.Execute(w, map[string]any{"Status": k.status, "Slug": k.slug, "Title": k.title, "About": k.about})
}
