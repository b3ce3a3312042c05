// Package plan decides what etcd-restore-operator does next for one EtcdRestore. It holds
// no clock, no I/O, no client, no logger and no randomness.
//
// Plan takes one immutable Observation (the EtcdRestore with the status that was last
// written, the EtcdCluster, the Job that verifies, and the cluster's Pods and volumes)
// and returns one Decision: a single next Action or none, the reason, and the status that
// both imply. It keeps nothing between calls. What must be remembered is in the status,
// written before the effect that it is about: the snapshot, the EtcdCluster's uid, the
// seed's name and the revision.
//
// Start reading in plan.go, which lists five runbooks; verifyonly.go has the sixth. The rules
// of each are in the order in which they are tried. What they keep, whatever crashes, lags or is lost in
// between:
//
//   - nothing of the cluster is touched before status.fencedBy of the EtcdCluster is our
//     uid;
//   - no member is stopped before the snapshot is verified and recorded, and before the
//     seed's database is ready to start: rebuilt from that snapshot, on the seed's node, by
//     the seed's Pod. With stopMembers First a Job has verified it, and the seed follows;
//   - so a restore that fails while it prepares has stopped no member;
//   - no member is stopped whose data is lost by that, while a quorum serves, unless the
//     user accepts it;
//   - no client has seen the revision at which the cluster begins, or one beyond it:
//     members that have written since it was settled are asked before they are stopped;
//   - no seed starts while another Pod of the cluster might run, unless the user accepts
//     it;
//   - the finalizer is on before the fence is asked for, and off only when nothing is left
//     to roll back;
//   - old volumes are deleted only after the adoption, and when as many voters serve as
//     the cluster has to have;
//   - a seed is handed over only when it serves and its permit is withdrawn: nothing is
//     restored twice;
//   - after the adoption no data is touched but old volumes;
//   - a rollback returns exactly what was taken, before the fence is lifted;
//   - two restores of one cluster never both fence it;
//   - a restore that has succeeded or failed is never begun again.
//
// simulate_test.go tries to break that, in a model of Kubernetes with caches that lag, of
// etcd-operator, and of a seed that is lost at any moment.
package plan
