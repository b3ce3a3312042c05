package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Images are those that the operator runs. No EtcdRestore names one, since whoever creates it
// could then run any program with the credentials that it names.
type Images struct {
	// Operator is the operator's own, with the agent and the launcher.
	Operator string
	// Etcd is that of the etcd that a verification starts, without its tag.
	Etcd string
}

// trialResources are what a verification needs that starts etcd, if nobody says anything. It is
// bounded, since it may share its node with whatever else runs there: etcd keeps its keys in
// memory, of some ten million in 2 GiB.
func trialResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi")},
	}
}

// awayFrom keeps a Pod off nodes; nil for none. An anti-affinity to members would also keep these
// off the node of the Pod, when one is to be replaced: the scheduler holds it against both.
func awayFrom(nodes []string) *corev1.Affinity {
	var others []corev1.NodeSelectorRequirement
	for _, name := range nodes { // of a field, a requirement has one value
		others = append(others, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}})
	}
	if others == nil {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: others}}},
	}}
}
