// Package ui holds the web application, as Vite builds it into dist, inside the binary.
package ui

import (
	"embed"
	"fmt"
	"io/fs"
)

// dist is never empty: a placeholder lets the binary build before the application was.
//
//go:embed all:dist
var dist embed.FS

// FS is the built application: index.html, theme.js, favicon.svg, docs/ (the API browser's own
// script and style sheet), and assets/, whose names change with their content and may be
// cached for good. built is false when the binary was made before the application was built;
// the file system then lacks index.html.
func FS() (files fs.FS, built bool) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		// Only an invalid path can do this, and the path is a constant.
		panic(fmt.Sprintf("ui: %v", err))
	}
	_, err = fs.Stat(files, "index.html")
	return files, err == nil
}
