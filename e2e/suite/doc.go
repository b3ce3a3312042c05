// Package suite is the end-to-end tests: what the operators promise their users, on
// a real Kubernetes. Each test has a namespace and operators of its own, under
// the restricted Pod Security Standard, and most of them have a client that writes
// the whole time, of which no acknowledged write may be lost. Every snapshot that a
// test lets be taken is opened with etcdutl, and must hold what was acknowledged
// before its EtcdBackup was created. A cluster that is restored must hold the very keys
// of the snapshot, each with its value and its revisions, and a client that watched it
// all the time must be told to list them again.
//
// When all tests have passed, what the operators asked of the API server is compared with
// what their Roles grant, by its audit log: whatever was forbidden, and whatever is granted
// and was not used, fails the suite; out/e2e/rights.txt lists the rights. A run of some of
// the tests looks only for what was forbidden, and one on the cluster of KUBECONFIG, which
// has no audit log for us, says so.
//
//	go test ./suite                       brings localkube up, and takes it down
//	go test ./suite -keep                 leaves it up; so does KEEP=1
//	KUBECONFIG=… go test ./suite          uses that cluster, without node faults
//	go test ./suite -run TestScale -v     shows how long each step took
//
// Tests that take nodes away run one by one, before the others, which run three
// at a time. What there is to know about a failure is printed with it, and more
// of it is in out/e2e/failures.
package suite
