package operator

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// InScope reports whether an operator is the one to reconcile an object: cluster-wide ones
// reconcile those that are annotated with that scope, others those that are not.
func InScope(o client.Object, clusterWide bool) bool {
	return clusterWide == (o.GetAnnotations()[v1beta2.AnnotationScope] == v1beta2.ScopeClusterwide)
}
