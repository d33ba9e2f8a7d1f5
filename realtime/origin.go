package realtime

import (
	"net/http"
	"net/url"
	"strings"
)

// HasOrigin says whether the request was made by a page in a browser, which always names its
// Origin. Without one it comes from a native client: the caller of Serve must then leave cookies
// aside, since nothing says on whose behalf they were sent. A Bearer token still counts.
func HasOrigin(r *http.Request) bool {
	return len(r.Header.Values("Origin")) > 0
}

// originCheck allows the request's own host and the sites given. The scheme of the own host is not
// compared: behind a proxy the server does not see the one that the browser used.
func originCheck(allowed []string) func(*http.Request) bool {
	sites := make(map[string]bool, len(allowed))
	for _, site := range allowed {
		sites[strings.ToLower(site)] = true
	}
	return func(r *http.Request) bool {
		origins := r.Header.Values("Origin")
		if len(origins) != 1 {
			return false
		}
		origin := strings.ToLower(origins[0])
		if sites[origin] {
			return true
		}
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && origin == u.Scheme+"://"+u.Host &&
			withoutDefaultPort(u.Scheme, u.Host) == withoutDefaultPort(u.Scheme, strings.ToLower(r.Host))
	}
}

// withoutDefaultPort makes hosts comparable: a browser leaves the default port out of an Origin, a
// native client or a proxy may name it in Host.
func withoutDefaultPort(scheme, host string) string {
	switch scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	default:
		return host
	}
}
