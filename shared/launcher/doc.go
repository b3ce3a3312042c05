// Package launcher starts etcd inside a member's Pod, and only when that is safe.
//
// An etcd process whose data dir is empty believes whatever its flags say: with
// --initial-cluster-state=new it founds a cluster, even a second one with the
// same ids as the first; with "existing" it joins as if it had never voted. So
// flags that are constants of the Pod are wrong as soon as the container
// restarts on a disk that was lost. The launcher stands in between. It is the
// command of the etcd container, runs on every start of it, and knows two ways
// to etcd:
//
//   - The data dir holds a write-ahead log: exec etcd at once. The log says who
//     this member is; no permit and no network is needed, so a cluster of
//     which every Pod was lost comes back on its volumes alone.
//   - It holds none: wait for a [StartPermit], use it up, then exec etcd with the
//     state that the permit names. Of a restore's seed, wait for the permit of the
//     EtcdRestore instead, and exec etcd on what was prepared: see [Restore].
//
// Data that is marked as another member's, or another EtcdCluster's, is neither: the launcher
// refuses to start etcd on it, and says so ([Refusing]).
//
// A permit is written by whoever owns the cluster's membership (the operator),
// as the Pod's annotation [StartPermitAnnotation], and reaches the launcher through a
// downward API volume. It is good for one start: its attempt number is recorded
// on disk, fsynced, before etcd runs, and only a higher one is accepted later.
// A crash at any line therefore burns a permit at worst, and the operator, which
// sees the launcher waiting again, may write the next one.
//
// While it waits, the launcher answers HTTP on the port where etcd's metrics
// listener will be, so that the same probes fit both, and the operator can tell
// a member that waits (no data) from one that runs: see [Ask].
//
// The package imports little, because the binary is copied into every member's
// Pod by an init container: see [Install].
package launcher
