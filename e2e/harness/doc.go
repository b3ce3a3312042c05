// Package harness is what the end-to-end tests, the demo and the benchmark share:
// a real Kubernetes ([Start]), the operators installed on it as a user would
// ([Env.Install]), EtcdClusters and what is expected of them ([Cluster],
// [Check]), a client that writes the whole time ([Cluster.StartWriter]),
// EtcdBackups ([Backup], [BackupCheck]), the stores that they are kept in and what
// is in there ([Store], [Inspector]), and faults ([Env.KillEtcd], [StallProxy],
// [Localkube]).
//
// The operators are black boxes here: they are known by their manifests, by the
// custom resources, and by what users see of the cluster.
//
// Nothing sleeps: whatever is waited for is looked at whenever a watch reports a
// change ([View]), and an expectation that is not met in time says why.
package harness
