package ops

import "github.com/prometheus/client_golang/prometheus"

// namespace stands before the name of each metric of ours.
const namespace = "aisle"

// quick are buckets for what should take less than a second, in seconds.
func quick() []float64 {
	return []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
}

// sizes are buckets for how many.
func sizes() []float64 { return []float64{1, 2, 4, 8, 16, 32, 64, 128, 256} }

func (m *Metrics) httpMetrics() httpMetrics {
	return httpMetrics{
		requests: m.counters("http_requests_total", "Requests on the public listener.", "route", "method", "code"),
		took:     m.histograms("http_request_duration_seconds", "How long a request took.", "route", "method"),
	}
}

func (m *Metrics) logMetrics() logMetrics {
	return logMetrics{
		took:     m.histogram("append_duration_seconds", "How long one append to the log took, for all of its batch.", quick()),
		wait:     m.histogram("append_wait_seconds", "How long the oldest request of a batch waited for its append.", quick()),
		batch:    m.histogram("append_batch_requests", "Requests that travelled in one append.", sizes()),
		rounds:   m.histogram("append_rounds", "Steps in which one append judged its requests.", sizes()),
		requests: m.counters("append_requests_total", "Requests that the log judged.", "verdict"),
		events:   m.counter("append_events_total", "Events appended."),
		failures: m.counter("append_failures_total", "Appends that failed as a whole."),
	}
}

func (m *Metrics) lockMetrics() lockMetrics {
	return lockMetrics{
		calls: m.counters("lock_calls_total", "Calls of Redis for seat locks.", "op", "outcome"),
		took:  m.histograms("lock_call_duration_seconds", "How long such a call took.", "op"),
	}
}

func (m *Metrics) commandMetrics() commandMetrics {
	return commandMetrics{
		done:     m.counters("commands_total", "Commands on bookings.", "command", "outcome"),
		took:     m.histograms("command_duration_seconds", "How long a command took.", "command"),
		locks:    m.counters("lock_attempts_total", "Attempts to lock seats, by what came of them.", "outcome"),
		rejudged: m.counter("commands_rejudged_total", "Times that a command was judged again because the log had moved on."),
	}
}

func (m *Metrics) mapMetrics() mapMetrics {
	return mapMetrics{
		lag:    m.histogram("projector_lag_seconds", "From an event's append to its snapshot.", quick()),
		writes: m.counters("projector_writes_total", "Writes of a showing's snapshot.", "outcome"),
		terms:  m.counter("leader_terms_total", "Terms that this replica began as leader."),
		leader: m.gauge("leader", "1 while this replica leads.", nil),
	}
}

func (m *Metrics) socketMetrics() socketMetrics {
	return socketMetrics{
		opened:    m.counter("sockets_opened_total", "Live sockets accepted."),
		closed:    m.counters("sockets_closed_total", "Live sockets that are gone.", "reason"),
		refused:   m.counters("sockets_refused_total", "Live sockets refused.", "reason"),
		frames:    m.counters("socket_frames_total", "Messages given to sockets.", "kind"),
		dropped:   m.counter("socket_frames_dropped_total", "Messages thrown away with a slow socket."),
		broadcast: m.histogram("broadcast_duration_seconds", "From taking a change to the last socket that could take it at once.", quick()),
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string, labels prometheus.Labels) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: quick()}, labels)
	m.registry.MustRegister(h)
	return h
}
