// Package harness is what the end-to-end tests, the demo and the benchmark share:
// a real Kubernetes ([Start]), the operator installed on it as a user would
// ([Env.Install]), EtcdClusters and what is expected of them ([Cluster],
// [Check]), a client that writes the whole time ([Cluster.StartWriter]), and
// faults ([Env.KillEtcd], [Localkube]).
//
// The operator is a black box here: it is known by its manifests, by the custom
// resource, and by what users see of the cluster.
//
// Nothing sleeps: whatever is waited for is looked at whenever a watch reports a
// change ([View]), and an expectation that is not met in time says why.
package harness
