// Command openapi writes the API's OpenAPI document into a file: what clients generate their types from.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/aislehq/aisle/web/api"
)

func main() {
	out := flag.String("out", "openapi.json", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	document, err := api.Document("1")
	if err != nil {
		return err
	}
	return os.WriteFile(out, document, 0o644) //nolint:gosec // a source file
}
