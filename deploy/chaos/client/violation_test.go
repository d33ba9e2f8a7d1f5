package client_test

import (
	"strings"

	"github.com/aislehq/aisle/deploy/chaos/client"
)

// mentions says whether a violation's detail has text in it.
func mentions(seen []client.Violation, text string) bool {
	for _, v := range seen {
		if strings.Contains(v.Detail, text) {
			return true
		}
	}
	return false
}
