package api_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/web/api"
)

func golden(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	return string(text)
}

// Clients generate their types from the file: it must be what the handlers say.
func TestTheWrittenDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	document, err := api.Document("1")
	require.NoError(t, err)
	require.Equal(t, golden(t), string(document), "run: go generate ./web/api")
}

// The calls of the contract, with what each needs and the statuses that it promises.
func TestTheDocumentHasTheContract(t *testing.T) {
	t.Parallel()
	var document struct {
		OpenAPI string `json:"openapi"`
		Servers []struct {
			URL string `json:"url"`
		} `json:"servers"`
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Required bool
			} `json:"parameters"`
			Responses map[string]struct {
				Content map[string]any `json:"content"`
			} `json:"responses"`
			Security []map[string]any `json:"security"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(golden(t)), &document))
	require.True(t, strings.HasPrefix(document.OpenAPI, "3.1"))
	require.Equal(t, "/api/v1", document.Servers[0].URL)
	require.NotContains(t, golden(t), "$schema")

	calls := map[string][]string{
		"post /sessions":                     {"201", "403", "413", "422", "429", "503"},
		"delete /sessions/current":           {"204", "401", "403", "422", "503"},
		"get /showings":                      {"200", "304", "422"},
		"get /showings/{id}":                 {"200", "404"},
		"get /showings/{id}/layout":          {"200", "304", "404"},
		"get /showings/{id}/seats":           {"200", "304", "404", "503"},
		"post /showings/{id}/bookings":       {"201", "400", "401", "403", "404", "409", "413", "422", "429", "503"},
		"post /bookings/{id}/seats":          {"200", "400", "401", "404", "409", "410", "413", "422", "429", "503"},
		"delete /bookings/{id}/seats/{seat}": {"200", "401", "404", "409", "410", "422", "429", "503"},
		"post /bookings/{id}/confirm":        {"200", "401", "404", "409", "410", "422", "429", "503"},
		"delete /bookings/{id}":              {"204", "401", "404", "409", "410", "422", "429", "503"},
		"get /bookings/{id}":                 {"200", "401", "404", "503"},
		"get /bookings":                      {"200", "401", "503"},
		"get /live":                          {"101", "401", "403", "426", "503"},
	}
	count := 0
	for path, methods := range document.Paths {
		for method, op := range methods {
			count++
			name := method + " " + path
			for _, status := range calls[name] {
				require.Contains(t, op.Responses, status, name)
				if status >= "400" {
					require.Contains(t, op.Responses[status].Content, "application/problem+json", name)
				}
			}
			names := map[string]bool{}
			for _, p := range op.Parameters {
				names[p.In+" "+p.Name] = p.Required
			}
			for part := range strings.SplitSeq(path, "/") {
				if id, ok := strings.CutPrefix(part, "{"); ok {
					require.True(t, names["path "+strings.TrimSuffix(id, "}")], name)
				}
			}
			command := method != "get" && path != "/sessions"
			require.Equal(t, command, names["header Idempotency-Key"], name)
			open := strings.HasPrefix(path, "/showings") && method == "get" || path == "/sessions"
			require.Equal(t, !open, len(op.Security) > 0, name)
		}
	}
	require.Len(t, calls, count)
}
