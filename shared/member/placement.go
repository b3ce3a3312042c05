package member

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// affinity is the user's, and with the predecessor's pod.antiAffinity a rule
// beside it that puts no two members on one node.
func affinity(cluster string, policy *v1beta2.PodPolicy) *corev1.Affinity {
	a := policy.Affinity
	if !policy.AntiAffinity {
		return a
	}
	if a == nil {
		a = &corev1.Affinity{}
	}
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	anti := a.PodAntiAffinity
	anti.RequiredDuringSchedulingIgnoredDuringExecution = append(
		anti.RequiredDuringSchedulingIgnoredDuringExecution,
		corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: cluster}},
			TopologyKey:   corev1.LabelHostname,
		})
	return a
}

// spread is the user's, or else: evenly over nodes and zones, as far as
// possible. Soft, so that a cluster of three also comes up on one node.
func spread(cluster string, policy *v1beta2.PodPolicy) []corev1.TopologySpreadConstraint {
	if policy.TopologySpreadConstraints != nil {
		return policy.TopologySpreadConstraints
	}
	soft := func(key string) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: cluster}},
		}
	}
	return []corev1.TopologySpreadConstraint{
		soft(corev1.LabelHostname),
		soft(corev1.LabelTopologyZone),
	}
}
