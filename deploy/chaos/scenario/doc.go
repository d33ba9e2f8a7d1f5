// Package scenario breaks a running box office on purpose, one fault at a time, while clients buy, and says what the
// judge thinks of it.
//
// # A run
//
//	start ─▶ before ─▶ break … repair ─▶ after ─▶ quiet ─▶ compare ─▶ stop ─▶ verdict
//
// Buyers work from before to after. In quiet they finish what they began and begin nothing. Then each watcher
// must show what the log says, at the latest Config.Within after the repair. The stores and the replicas are the run's own.
//
// # What is judged
//
// Everything in Invariants, in every run, whatever the fault; a Scenario adds what it expects of its own (Run.Expect).
// A run is what its seed makes of it: who buys what and when the fault strikes are drawn from it. What the machine's
// scheduler makes of it is not, so a seed that failed is likely, not sure, to fail again.
package scenario
