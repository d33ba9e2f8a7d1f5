package rows

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWireReadsWhatServersSend(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000) // sent in chunks
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			_, _ = w.Write([]byte(long))
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		case "/echo":
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(r.Header.Get("X-Session")))
		}
	}))
	t.Cleanup(s.Close)
	w, err := dial(t.Context(), strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer w.close()
	for range 2 { // on the same connection
		for _, c := range []struct {
			path   string
			status int
			body   string
		}{{"/long", 200, long}, {"/same", 304, ""}, {"/echo", 201, "me"}, {"/nothing", 200, ""}} {
			status, body, err := w.do("POST", c.path, "X-Session: me\r\n", []byte("[]"))
			require.NoError(t, err)
			require.Equal(t, c.status, status)
			require.Equal(t, c.body, string(body))
		}
	}
}

func TestMember(t *testing.T) {
	t.Parallel()
	id, err := member([]byte(`{"a":1,"id":"f7","z":""}`), "id")
	require.NoError(t, err)
	require.Equal(t, "f7", id)
	for _, odd := range []string{"", `{"id":7}`, `{"id":"f7`} {
		_, err := member([]byte(odd), "id")
		require.Error(t, err, odd)
	}
}
