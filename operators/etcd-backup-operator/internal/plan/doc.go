// Package plan decides what etcd-backup-operator does next for one EtcdBackup: when a
// backup is started, what became of those that were, and what the status tells. It
// holds no clock, no I/O, no client, no logger and no randomness.
//
// Plan takes one immutable Observation (the EtcdBackup with the status that was last
// written, the EtcdCluster that it refers to, and its Jobs) and returns one Decision: a
// single next Action or none, the reason, and the status that both imply. It keeps
// nothing between calls. What must be remembered is in the status: the clock (which due
// times are done with), the backups that are active, and the history.
//
// Start reading in plan.go: the rules are listed there in the order in which they are
// tried. What they keep, whatever crashes, lags or is lost in between:
//
//   - a due time gets one Job, whose name follows from it;
//   - with concurrencyPolicy Forbid no two backups of one EtcdBackup run side by side;
//   - what a Job came to is recorded once, and the Job deleted only after that;
//   - a Job that hangs is given up: recorded, then deleted, and only then is another
//     started (see hang.go), so that no schedule stops for good;
//   - of the times that were missed at most the newest is made up;
//   - a one-shot backup that has succeeded, or failed for good, is never run again.
//
// simulate_test.go tries to break that, in a model of Kubernetes with caches that lag.
package plan
