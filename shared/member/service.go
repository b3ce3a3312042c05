package member

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// ClientService is the Service that clients connect to. It selects by role, not
// by readiness alone: the operator says which members may serve clients, and
// until a new cluster's id is known, none may.
func ClientService(c *v1beta2.EtcdCluster) *corev1.Service {
	s := service(c, ClientServiceName(c.Name))
	if c.Spec.Service != nil {
		s.Annotations = maps.Clone(c.Spec.Service.Annotations)
	}
	s.Spec = corev1.ServiceSpec{
		Type:     c.Spec.ClientServiceType(),
		Selector: voterSelector(c),
		Ports:    []corev1.ServicePort{servicePort(clientPortName, ClientPort)},
	}
	return s
}

// PeerService is the headless Service behind the members' DNS names. It
// publishes Pods that are not ready, since members must find each other to
// become ready.
func PeerService(c *v1beta2.EtcdCluster) *corev1.Service {
	s := service(c, PeerServiceName(c.Name))
	s.Spec = corev1.ServiceSpec{
		Type:                     corev1.ServiceTypeClusterIP,
		ClusterIP:                corev1.ClusterIPNone,
		PublishNotReadyAddresses: true,
		Selector:                 podSelector(c),
		Ports: []corev1.ServicePort{
			servicePort(clientPortName, ClientPort),
			servicePort(peerPortName, PeerPort),
		},
	}
	return s
}

func service(c *v1beta2.EtcdCluster, name string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: objectMeta(c, name),
	}
}

func servicePort(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{
		Name:       name,
		Protocol:   corev1.ProtocolTCP,
		Port:       port,
		TargetPort: intstr.FromString(name),
	}
}

// DisruptionBudget keeps evictions, such as the drain of a node, from taking
// more voters than the quorum can spare. The caller computes minAvailable from
// etcd's own member list.
func DisruptionBudget(c *v1beta2.EtcdCluster, minAvailable int) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: objectMeta(c, c.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(int32(minAvailable))),
			Selector:     &metav1.LabelSelector{MatchLabels: voterSelector(c)},
			// A voter that does not run may be evicted only while the others
			// suffice; AlwaysAllow would let a drain take the disk of one that is
			// about to come back.
			UnhealthyPodEvictionPolicy: new(policyv1.IfHealthyBudget),
		},
	}
}
