package build

import "github.com/etcd-operators/etcd-operators/shared/etcdversion"

// KubernetesVersion is what build/kubernetes/go.mod requires; a test holds the two together.
const KubernetesVersion = "v1.37.2"

// EtcdVersions are the newest patches of the supported etcd minors, oldest first: what build/etcd-*/go.mod require;
// a test holds the two together.
func EtcdVersions() []string {
	var versions []string
	for _, v := range etcdversion.All() {
		versions = append(versions, "v"+v)
	}
	return versions
}

// VersitygwVersion is what build/versitygw/go.mod requires; a test holds the two together.
const VersitygwVersion = "v1.8.0"

// CertManagerVersion is what build/cert-manager/go.mod requires; a test holds the two together.
const CertManagerVersion = "v1.21.2"
