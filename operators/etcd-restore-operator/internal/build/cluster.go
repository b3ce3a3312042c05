package build

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
)

// Cluster builds the EtcdCluster that a restore makes: born fenced, so that no member is
// made before the seed.
func Cluster(r *v1beta2.EtcdRestore, create plan.CreateCluster) *v1beta2.EtcdCluster {
	annotations := map[string]string{}
	maps.Copy(annotations, create.Annotations)
	annotations[v1beta2.AnnotationFence] = string(r.UID)
	annotations[v1beta2.AnnotationRestoredBy] = string(r.UID)
	return &v1beta2.EtcdCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdCluster"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        r.Name,
			Namespace:   r.Namespace,
			Labels:      maps.Clone(create.Labels),
			Annotations: annotations,
		},
		Spec: *create.Spec.DeepCopy(),
	}
}
