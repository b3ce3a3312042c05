package report

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// related is the Pod of the member that an event is about; nil if it is about no single one.
// Events of one reason are counted as one series, of which only the first message is kept,
// unless they are related to different objects
// (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/).
func related(c *v1beta2.EtcdCluster, member string) runtime.Object {
	if member == "" {
		return nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: member, Namespace: c.Namespace}}
}
