package agentpod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Policy is a copy of the user's policy, which may be nil, so that nothing built from
// it shares memory with an object in an informer's cache. Its resources are resources,
// if the user says none.
func Policy(user *v1beta2.AgentPod, resources corev1.ResourceRequirements) *v1beta2.AgentPod {
	policy := &v1beta2.AgentPod{}
	if user != nil {
		policy = user.DeepCopy()
	}
	if !Asks(policy.Resources) {
		policy.Resources = resources
	}
	return policy
}

// Asks reports whether resources say anything.
func Asks(r corev1.ResourceRequirements) bool { return len(r.Requests) > 0 || len(r.Limits) > 0 }
