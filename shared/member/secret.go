package member

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Secret is one of the Secrets of a cluster for which certificates are issued, still
// without content. It is deleted with the EtcdCluster.
func Secret(c *v1beta2.EtcdCluster, name string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: objectMeta(c, name),
		Type:       corev1.SecretTypeTLS,
	}
}
