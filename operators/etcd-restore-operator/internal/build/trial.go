package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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

// awayFromMembers keeps a Pod off the nodes that run members of any EtcdCluster: it reads and
// writes a whole database, and etcd needs its disk for every write.
func awayFromMembers() *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelApp: v1beta2.AppEtcd}},
			NamespaceSelector: &metav1.LabelSelector{}, // of every namespace
			TopologyKey:       corev1.LabelHostname,
		}},
	}}
}
