// Package v1beta2 holds the types of the API group etcd.database.coreos.com,
// version v1beta2: what a user writes to get an etcd cluster, and what the
// operator reports about it.
//
// The group, the version and the spelling of every older field are those of the
// archived coreos etcd-operator, so that manifests written for it apply
// unchanged. Everything newer is optional.
//
// Start at [EtcdCluster]. The markers above each field (+kubebuilder:…) are the
// source of the CRD: its schema, its CEL rules and its printer columns. Run
// "make generate" after a change to them; it writes the CRDs into deploy/.
//
// The package imports nothing but k8s.io/api and k8s.io/apimachinery, so that a
// client can import it without the dependencies of an operator.
//
// +kubebuilder:object:generate=true
// +groupName=etcd.database.coreos.com
package v1beta2
