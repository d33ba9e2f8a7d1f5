package ops

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/go-chi/chi/v5"
)

// State is where a replica is in its life.
type State string

// The states of a replica.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Draining State = "draining"
)

// Readiness is what a replica can do now.
type Readiness struct {
	State State `json:"state"`
	// CanShow: it can show seat maps, if perhaps old ones.
	CanShow bool `json:"can_show"`
	// CanSell: it can take bookings.
	CanSell bool `json:"can_sell"`
	// Missing names the stores that it can't reach, such as "redis".
	Missing []string `json:"missing"`
}

// status is 200 for a replica that should get traffic.
func (r Readiness) status() int {
	if r.State == Ready && (r.CanShow || r.CanSell) {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

// Config is what is served. The zero value of a field means its default.
type Config struct {
	// Pprof serves /debug/pprof. Default: not.
	Pprof bool
}

// New returns the handler of the ops listener. readiness is asked for each /readyz and must not block.
func New(cfg Config, metrics *Metrics, readiness func() Readiness) http.Handler {
	r := chi.NewRouter()
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	r.Get("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		now := readiness()
		if now.Missing == nil {
			now.Missing = []string{}
		}
		writeJSON(w, now.status(), now)
	})
	r.Method(http.MethodGet, "/metrics", metrics.handler())
	if cfg.Pprof {
		r.HandleFunc("/debug/pprof/*", pprof.Index)
		r.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		r.HandleFunc("/debug/pprof/profile", pprof.Profile)
		r.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		r.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return r
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// NewServer is an HTTP server for the handler. A profile may take its time, so writing has no limit.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
}
