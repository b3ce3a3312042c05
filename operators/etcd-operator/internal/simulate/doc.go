// Package simulate tries to break the planner of package plan, in a model of the
// world that it acts on: Kubernetes, the launcher in each member's Pod, and etcd
// under raft's rules, as far as the planner sees them.
//
// A run is deterministic: one seed number decides the configuration, the moment
// and target of every fault, and every delay. There is no real time, no
// Kubernetes and no etcd in it, and one goroutine runs at a time. After every step the invariants S1
// to S13 of docs/design/invariants.md are checked from the model's truth (what really runs
// where, what is on which disk, what a quorum has committed), not from what the
// planner believes. At the end faults stop, and the cluster must come to rest at
// its size, or say QuorumLost if a majority's data is really gone.
//
// Start reading in run.go: [Run] makes one run, [Explore] visits all runs of a
// small configuration, and a [Failure] tells the shortest story found of how an
// invariant was broken. Then:
//
//   - world.go: the state of everything, and the order of things within a step
//   - kube.go: nodes, scheduler, kubelets, volumes
//   - container.go: what a container does when it starts, and how etcd does
//   - launcher.go: the launcher that ships, in those containers (S2)
//   - etcd.go, member.go: logs, elections, commits; the calls that change members
//   - version.go: images, and etcd's cluster version
//   - space.go: databases that fill, alarms, compaction and defragmentation
//   - template.go: the shape of Pods, and nodes that are to be emptied
//   - certificates.go: CAs that are replaced, and certificates that are not there
//   - client.go: a client that writes all the time
//   - operator.go, caches.go, act.go: lagging caches, observing, and carrying out a Decision
//     one API call at a time, with the preconditions of the real act
//   - restore.go: restores, which fence the cluster and hand a seed over
//   - survivor.go: clusters that begin anew with a survivor's data
//   - faults.go: everything that goes wrong
//   - invariants.go, liveness.go: what is checked against the truth
//   - oracle.go: what is checked of a Decision against its Observation alone;
//     the fuzz test uses it with Observations that no model would produce
//   - minimise.go, trace.go: from a failing run to a short story
//   - clone.go, explore.go: every run of a small configuration
//   - shipped.go: the code that ships in the place of operator.go and act.go, compared with them in
//     shipped_compare.go, with
//     shipped_api.go, shipped_objects.go and shipped_etcd.go as its outside
//   - shipped_restore.go: etcd-restore-operator as it ships in the place of restore.go, with
//     shipped_restore_api.go as its outside, shipped_seed.go for the Pod that it makes, and
//     shipped_restore_looks.go for what is checked of its effects
//
// To look at one failing seed: go test -run TestSimulate -seed N -v, or
// go test -tags simulation -run 'TestShipped$' -seed N -v. For many: -seeds N, or -shipped N.
//
// Faults are bounded where no operator could keep an invariant. An emptyDir may be lost
// with the record of used start permits beside it, and the launcher's copy of the start permit may be as
// old as its kubelet has been cut off. A seed is kept from beginning again, since its start permit
// is withdrawn before its cluster counts, and a member from joining again, since those that
// answer list it as started. What remains is left out: a seed whose kubelet was cut off
// before the withdrawal keeps its record. Volumes that come back with older data are not
// modelled yet: raft takes what a member has once confirmed for written.
//
// What is not modelled, because it cannot change what the planner decides: bytes
// and snapshots (a log entry stands for any number of them), handshakes, Services other
// than by the label that they select, and events.
package simulate
