package agentpod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// scratchRequest is what a Pod with scratch space asks of its node: as much as etcd's
	// database has by default at most (--quota-backend-bytes, 2 GiB).
	scratchRequest = "2Gi"
	// scratchLimit bounds scratch space: it holds the largest database that etcd's
	// documentation advises, of 8 GiB (https://etcd.io/docs/v3.6/dev-guide/limit/), and
	// some more.
	scratchLimit = "10Gi"
)

// Scratch mounts scratch space on the node's disk, which is bounded and requested: what
// policy says of ephemeral-storage, else what does for most. policy is one that [Policy]
// has made. It returns the bound, in bytes: whoever writes more is evicted.
func (f *Files) Scratch(name, path string, policy *v1beta2.AgentPod) int64 {
	const kind = corev1.ResourceEphemeralStorage
	request, requested := policy.Resources.Requests[kind]
	limit, limited := policy.Resources.Limits[kind]
	if !requested && !limited { // Kubernetes requests what is the limit
		request = resource.MustParse(scratchRequest)
		if policy.Resources.Requests == nil {
			policy.Resources.Requests = corev1.ResourceList{}
		}
		policy.Resources.Requests[kind] = request
	}
	if !limited {
		limit = resource.MustParse(scratchLimit)
		if request.Cmp(limit) > 0 {
			limit = request
		}
	}
	limit = limit.DeepCopy()
	f.Mount(name, path, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}})
	return limit.Value()
}
