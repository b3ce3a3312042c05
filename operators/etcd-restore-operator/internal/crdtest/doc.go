// Package crdtest tests the definition of EtcdRestore against a real kube-apiserver:
// that what was valid for the predecessor is accepted, and that what is wrong is
// refused with a message that a person can act on. What is in deploy/ and examples/
// goes through the same server.
//
// It holds tests alone. They need the binaries kube-apiserver and etcd in the
// folder that KUBEBUILDER_ASSETS names, and fail without it.
package crdtest
