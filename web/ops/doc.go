// Package ops is what operators and their machines ask a replica, on a listener of its own that is never public:
//
//   - /healthz: 200 while the process is up. It says nothing about stores, so that a lost database restarts nobody.
//   - /readyz: 200 while the replica can show seat maps, 503 while it starts, drains, or can neither show nor
//     sell. The body says which: {"state": "ready", "can_show": true, "can_sell": false, "missing": ["postgres"]}.
//   - /metrics: Prometheus, from a registry of its own.
//   - /debug/pprof, only when Config.Pprof says so.
//
// Metrics is what the rooms tell: each of its methods fits one of their hooks, and app hands it over.
package ops
