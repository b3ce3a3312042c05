package build

// KubernetesVersion is what build/kubernetes/go.mod requires; a test holds the two together.
const KubernetesVersion = "v1.34.4"

// EtcdVersions are the newest patches of the supported etcd minors, oldest first: what build/etcd-*/go.mod require;
// a test holds the two together.
var EtcdVersions = []string{"v3.5.35", "v3.6.16", "v3.7.3"}

// VersitygwVersion is what build/versitygw/go.mod requires; a test holds the two together.
const VersitygwVersion = "v1.8.0"

// CertManagerVersion is what build/cert-manager/go.mod requires; a test holds the two together.
const CertManagerVersion = "v1.21.2"
