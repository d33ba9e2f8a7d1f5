package api

import "net/http"

// corsAge is how long a browser may remember a preflight's answer, in seconds.
const corsAge = "600"

// cors lets the pages of allowed origins read our answers and send commands. To all others it says
// nothing, and browsers keep them out.
func (s *server) cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		origin, ok := s.origins.foreign(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-Id")
		h.Set("Access-Control-Max-Age", corsAge)
		w.WriteHeader(http.StatusNoContent)
	})
}
