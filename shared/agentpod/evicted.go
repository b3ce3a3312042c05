package agentpod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// reasonEvicted is the kubelet's word for a Pod that it has stopped for lack of a
// resource.
const reasonEvicted = v1beta2.ReasonEvicted

// The reasons of a Pod that the kubelet has evicted. Package v1beta2 explains them.
const (
	ReasonScratchSpaceExceeded = agent.ReasonScratchSpaceExceeded
	ReasonNodeOutOfDisk        = v1beta2.ReasonNodeOutOfDisk
	ReasonNodeOutOfMemory      = v1beta2.ReasonNodeOutOfMemory
)

// eviction is that of a Pod of a Job.
func eviction(pod *corev1.Pod) *agent.Failure { return Eviction(pod, "") }

// Eviction is why the kubelet has evicted a Pod, and which field to raise; nil if it has
// not. in names the object that has the field, such as " in EtcdCluster c"; empty: the one
// that the failure is told of. The kubelet's reason is always the same, so its words tell
// which resource it was (pkg/kubelet/eviction/helpers.go in Kubernetes).
func Eviction(pod *corev1.Pod, in string) *agent.Failure {
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != reasonEvicted {
		return nil
	}
	said := strings.TrimSpace(pod.Status.Message)
	switch {
	case strings.Contains(said, "exceed"): // a limit of the Pod's, of a container's or of a volume's
		return &agent.Failure{Reason: ReasonScratchSpaceExceeded, Permanent: true, Message: fmt.Sprintf(
			"the Pod %s was evicted, since it needs more disk space than it may use: raise spec.pod.resources.limits.ephemeral-storage%s (%s)", pod.Name, in, said)}
	case strings.Contains(said, "low on resource: "+string(corev1.ResourceMemory)):
		return &agent.Failure{Reason: ReasonNodeOutOfMemory, Message: fmt.Sprintf(
			"the Pod %s was evicted, since its node %s ran short of memory: raise spec.pod.resources.requests.memory%s (%s)", pod.Name, pod.Spec.NodeName, in, said)}
	case strings.Contains(said, "low on resource: "): // ephemeral-storage or inodes
		return &agent.Failure{Reason: ReasonNodeOutOfDisk, Message: fmt.Sprintf(
			"the Pod %s was evicted, since its node %s ran short of disk space: raise spec.pod.resources.requests.ephemeral-storage%s (%s)", pod.Name, pod.Spec.NodeName, in, said)}
	}
	return &agent.Failure{Reason: reasonEvicted, Message: fmt.Sprintf("the Pod %s was evicted from its node %s: %s", pod.Name, pod.Spec.NodeName, said)}
}

// evictions counts the Pods that the kubelet has evicted.
func evictions(pods []corev1.Pod) int {
	n := 0
	for i := range pods {
		if eviction(&pods[i]) != nil {
			n++
		}
	}
	return n
}
