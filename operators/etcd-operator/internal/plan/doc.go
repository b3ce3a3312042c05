// Package plan decides what etcd-operator does next. It holds all of the
// operator's knowledge of etcd's safety, and nothing else: no clock, no I/O, no
// client, no logger, no randomness.
//
// Plan takes one immutable Observation of one EtcdCluster (its spec and latched
// status, its Pods and volumes, and what each member says of itself) and returns
// one Decision: a single next Action, or a reason to wait, and the status that
// the Observation implies. It keeps nothing between calls; etcd's member list
// and the API server are the only state.
//
// Start reading in runbook.go: the rules are listed there in the order in which
// they are tried. The invariants that they keep are named S1 to S13 in comments
// and are checked, step by step and under faults, by package simulate next to
// this one.
//
// The terms: V are the voters of etcd's own member list; H are the voters of V
// that are healthy in this Observation (see facts.View); q(n) is the smallest majority
// of n.
package plan
