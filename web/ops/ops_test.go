package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/web/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, handler http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRecorder()
	handler.ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return r
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	now := ops.Readiness{State: ops.Starting}
	handler := ops.New(ops.Config{}, ops.NewMetrics("test"), func() ops.Readiness { return now })
	for _, c := range []struct {
		now    ops.Readiness
		status int
		body   string
	}{
		{ops.Readiness{State: ops.Starting}, 503, `{"state":"starting","can_show":false,"can_sell":false,"missing":[]}`},
		{ops.Readiness{State: ops.Starting, CanShow: true, CanSell: true}, 503, `{"state":"starting","can_show":true,"can_sell":true,"missing":[]}`},
		{ops.Readiness{State: ops.Ready, CanShow: true, CanSell: true}, 200, `{"state":"ready","can_show":true,"can_sell":true,"missing":[]}`},
		{
			ops.Readiness{State: ops.Ready, CanShow: true, Missing: []string{"postgres", "redis"}},
			200,
			`{"state":"ready","can_show":true,"can_sell":false,"missing":["postgres","redis"]}`,
		},
		{ops.Readiness{State: ops.Ready, Missing: []string{"postgres"}}, 503, `{"state":"ready","can_show":false,"can_sell":false,"missing":["postgres"]}`},
		{ops.Readiness{State: ops.Draining, CanShow: true, CanSell: true}, 503, `{"state":"draining","can_show":true,"can_sell":true,"missing":[]}`},
	} {
		now = c.now
		r := get(t, handler, "/readyz")
		require.Equal(t, c.status, r.Code)
		require.JSONEq(t, c.body, r.Body.String())
		require.Equal(t, "application/json", r.Header().Get("Content-Type"))
		require.Equal(t, "no-store", r.Header().Get("Cache-Control"))
		require.Equal(t, 200, get(t, handler, "/healthz").Code, "up, whatever it can do")
	}
	require.True(t, json.Valid(get(t, handler, "/healthz").Body.Bytes()))
	require.Equal(t, 404, get(t, handler, "/debug/pprof/").Code)
	require.Equal(t, 404, get(t, handler, "/").Code)

	profiled := ops.New(ops.Config{Pprof: true}, ops.NewMetrics("test"), func() ops.Readiness { return now })
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap?debug=1"} {
		require.Equal(t, 200, get(t, profiled, path).Code, path)
	}
}

func TestMetricsOfEveryStage(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics("1.2.3")
	handler := ops.New(ops.Config{}, m, func() ops.Readiness { return ops.Readiness{} })
	m.GaugeFunc("sockets", "Live sockets.", func() float64 { return 7 })
	m.CounterFunc("map_loads_total", "Maps loaded.", func() float64 { return 3 })

	m.HTTP("/api/v1/showings/{id}", http.MethodGet, 200, 3*time.Millisecond)
	m.HTTP("", "BREW", 404, time.Millisecond)
	m.Flushed(ops.Flush{Requests: 5, Passed: 3, Events: 9, Rounds: 2, Wait: time.Millisecond, Took: 2 * time.Millisecond})
	m.Flushed(ops.Flush{Requests: 4, Failed: true})
	m.LockCall("acquire", "taken", time.Millisecond)
	b := m.Booking()
	for _, err := range []error{
		nil, &booking.SeatsUnavailableError{}, booking.ErrHoldExpired, booking.ErrUnavailable, booking.ErrOutcomeUnknown, errors.New("x"),
		context.Canceled,
	} {
		b.Command("hold", time.Millisecond, err)
	}
	b.Lock(booking.LockFinal)
	b.Rejudged()
	m.Projected("written", 4*time.Millisecond)
	m.Projected("refused", 0)
	m.Leading(true)
	rt := m.Realtime()
	rt.Opened()
	rt.Closed("slow")
	rt.Refused("full")
	rt.Frames("delta", 12)
	rt.Dropped(5)
	rt.Broadcast(time.Millisecond, 12)

	r := get(t, handler, "/metrics")
	require.Equal(t, 200, r.Code)
	text := r.Body.String()
	for _, line := range []string{
		`aisle_build_info{version="1.2.3"} 1`,
		`aisle_http_requests_total{code="200",method="GET",route="/api/v1/showings/{id}"} 1`,
		`aisle_http_requests_total{code="404",method="other",route="none"} 1`,
		`aisle_http_request_duration_seconds_count{method="GET",route="/api/v1/showings/{id}"} 1`,
		`aisle_append_requests_total{verdict="passed"} 3`,
		`aisle_append_requests_total{verdict="refused"} 2`,
		`aisle_append_events_total 9`,
		`aisle_append_failures_total 1`,
		`aisle_append_batch_requests_sum 9`,
		`aisle_append_duration_seconds_count 2`,
		`aisle_append_wait_seconds_count 2`,
		`aisle_append_rounds_sum 2`,
		`aisle_lock_calls_total{op="acquire",outcome="taken"} 1`,
		`aisle_lock_call_duration_seconds_count{op="acquire"} 1`,
		`aisle_commands_total{command="hold",outcome="done"} 1`,
		`aisle_commands_total{command="hold",outcome="refused"} 2`,
		`aisle_commands_total{command="hold",outcome="unavailable"} 1`,
		`aisle_commands_total{command="hold",outcome="unknown"} 1`,
		`aisle_commands_total{command="hold",outcome="failed"} 2`,
		`aisle_command_duration_seconds_count{command="hold"} 7`,
		`aisle_lock_attempts_total{outcome="final"} 1`,
		`aisle_commands_rejudged_total 1`,
		`aisle_projector_writes_total{outcome="written"} 1`,
		`aisle_projector_writes_total{outcome="refused"} 1`,
		`aisle_projector_lag_seconds_count 1`,
		`aisle_leader 1`,
		`aisle_leader_terms_total 1`,
		`aisle_sockets 7`,
		`aisle_map_loads_total 3`,
		`aisle_sockets_opened_total 1`,
		`aisle_sockets_closed_total{reason="slow"} 1`,
		`aisle_sockets_refused_total{reason="full"} 1`,
		`aisle_socket_frames_total{kind="delta"} 12`,
		`aisle_socket_frames_dropped_total 5`,
		`aisle_broadcast_duration_seconds_count 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	m.Leading(false)
	require.Contains(t, get(t, handler, "/metrics").Body.String(), "aisle_leader 0\n")

	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

// Two replicas in one process, as in tests, count apart.
func TestEachReplicaCountsForItself(t *testing.T) {
	t.Parallel()
	first, second := ops.NewMetrics("1"), ops.NewMetrics("1")
	first.Leading(true)
	require.Contains(t, get(t, ops.New(ops.Config{}, second, func() ops.Readiness { return ops.Readiness{} }), "/metrics").Body.String(), "aisle_leader 0\n")
}
