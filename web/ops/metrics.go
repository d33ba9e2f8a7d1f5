package ops

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/realtime"
)

// Metrics counts what the rooms tell, each replica in a registry of its own. Its methods don't block.
type Metrics struct {
	registry *prometheus.Registry
	http     httpMetrics
	log      logMetrics
	locks    lockMetrics
	commands commandMetrics
	maps     mapMetrics
	sockets  socketMetrics
}

type httpMetrics struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

type logMetrics struct {
	took, wait, batch, rounds prometheus.Histogram
	requests                  *prometheus.CounterVec
	events, failures          prometheus.Counter
}

type lockMetrics struct {
	calls *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

type commandMetrics struct {
	done     *prometheus.CounterVec
	took     *prometheus.HistogramVec
	locks    *prometheus.CounterVec
	rejudged prometheus.Counter
}

type mapMetrics struct {
	lag    prometheus.Histogram
	writes *prometheus.CounterVec
	terms  prometheus.Counter
	leader prometheus.Gauge
}

type socketMetrics struct {
	opened          prometheus.Counter
	closed, refused *prometheus.CounterVec
	frames          *prometheus.CounterVec
	dropped         prometheus.Counter
	broadcast       prometheus.Histogram
}

// NewMetrics returns metrics that all start at nothing; version names the running program.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauge("build_info", "The running program: always 1.", prometheus.Labels{"version": version}).Set(1)
	m.http = m.httpMetrics()
	m.log = m.logMetrics()
	m.locks = m.lockMetrics()
	m.commands = m.commandMetrics()
	m.maps = m.mapMetrics()
	m.sockets = m.socketMetrics()
	return m
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// GaugeFunc adds a gauge aisle_<name> that is read when somebody asks. A name is added once.
func (m *Metrics) GaugeFunc(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
}

// CounterFunc adds a counter aisle_<name>, which ends in _total, that is read when somebody asks.
func (m *Metrics) CounterFunc(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, value))
}

// HTTP counts a request on the public listener, by its route's pattern.
func (m *Metrics) HTTP(route, method string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions:
	default:
		method = "other" // a client may make up any number of them
	}
	m.http.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.http.took.WithLabelValues(route, method).Observe(took.Seconds())
}

// Flush describes one append to the log.
type Flush struct {
	// Requests were judged together, Passed of them appended, as Events events, in Rounds steps.
	Requests, Passed, Events, Rounds int
	// Wait is how long the oldest request had waited, Took how long the append itself lasted.
	Wait, Took time.Duration
	// Failed: none of them got a verdict.
	Failed bool
}

// Flushed counts an append to the log.
func (m *Metrics) Flushed(f Flush) {
	m.log.wait.Observe(f.Wait.Seconds())
	m.log.took.Observe(f.Took.Seconds())
	m.log.batch.Observe(float64(f.Requests))
	if f.Failed {
		m.log.failures.Inc()
		return
	}
	m.log.rounds.Observe(float64(f.Rounds))
	m.log.requests.WithLabelValues("passed").Add(float64(f.Passed))
	m.log.requests.WithLabelValues("refused").Add(float64(f.Requests - f.Passed))
	m.log.events.Add(float64(f.Events))
}

// LockCall counts a call of Redis for seat locks.
func (m *Metrics) LockCall(op, outcome string, took time.Duration) {
	m.locks.calls.WithLabelValues(op, outcome).Inc()
	m.locks.took.WithLabelValues(op).Observe(took.Seconds())
}

// Booking is what counts commands on bookings.
func (m *Metrics) Booking() booking.Metrics {
	return booking.Metrics{
		Command: func(name string, took time.Duration, err error) {
			m.commands.done.WithLabelValues(name, outcomeOf(err)).Inc()
			m.commands.took.WithLabelValues(name).Observe(took.Seconds())
		},
		Lock:     func(outcome booking.LockOutcome) { m.commands.locks.WithLabelValues(string(outcome)).Inc() },
		Rejudged: func() { m.commands.rejudged.Inc() },
	}
}

// outcomeOf is how a command ended, for counting: done, refused (someone else was faster, or it made no
// sense), unavailable, unknown, or failed.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, booking.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, booking.ErrOutcomeUnknown):
		return "unknown"
	case refused(err):
		return "refused"
	}
	return "failed"
}

func refused(err error) bool {
	for _, sentinel := range []error{
		booking.ErrNotFound, booking.ErrHoldExpired, booking.ErrRequestInFlight, booking.ErrKeyMismatch, booking.ErrAddressLimit,
	} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	var (
		taken   *booking.SeatsUnavailableError
		notHeld *booking.NotHeldError
		exists  *booking.ExistsError
		closed  *booking.SalesClosedError
		unknown *booking.UnknownSeatsError
		tooMany *booking.TooManySeatsError
		invalid *booking.InvalidError
	)
	return errors.As(err, &taken) || errors.As(err, &notHeld) || errors.As(err, &exists) || errors.As(err, &closed) ||
		errors.As(err, &unknown) || errors.As(err, &tooMany) || errors.As(err, &invalid)
}

// Projected counts a write of a showing's snapshot: how it ended ("written", "refused" by its fence, or
// "failed"), and how old the newest event in it was.
func (m *Metrics) Projected(outcome string, lag time.Duration) {
	m.maps.writes.WithLabelValues(outcome).Inc()
	if outcome == "written" {
		m.maps.lag.Observe(lag.Seconds())
	}
}

// Leading notes that this replica leads, or no longer does.
func (m *Metrics) Leading(leads bool) {
	if leads {
		m.maps.terms.Inc()
		m.maps.leader.Set(1)
		return
	}
	m.maps.leader.Set(0)
}

// Realtime is what counts sockets.
func (m *Metrics) Realtime() realtime.Metrics {
	return realtime.Metrics{
		Opened:  func() { m.sockets.opened.Inc() },
		Closed:  func(reason string) { m.sockets.closed.WithLabelValues(reason).Inc() },
		Refused: func(reason string) { m.sockets.refused.WithLabelValues(reason).Inc() },
		Frames:  func(kind string, n int) { m.sockets.frames.WithLabelValues(kind).Add(float64(n)) },
		Dropped: func(n int) { m.sockets.dropped.Add(float64(n)) },
		Broadcast: func(took time.Duration, _ int) {
			m.sockets.broadcast.Observe(took.Seconds())
		},
	}
}
