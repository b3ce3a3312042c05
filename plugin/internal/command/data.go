package command

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
)

// transferWait is how long a backup, a verification or a restore is waited for.
const transferWait = time.Hour

// nameStamp makes names of objects that sort by the time.
const nameStamp = "20060102-150405"

// scoped gives an object the scope of another, so that the same operators serve it.
func scoped(o client.Object, of client.Object) {
	if scope := of.GetAnnotations()[v1beta2.AnnotationScope]; scope != "" {
		o.SetAnnotations(map[string]string{v1beta2.AnnotationScope: scope})
	}
}

// create creates an object by which an operator is asked for work.
func create(ctx context.Context, access *kube.Access, kind string, o client.Object) error {
	err := access.Create(ctx, o, client.FieldOwner(kube.FieldOwner))
	switch {
	case meta.IsNoMatchError(err):
		return kube.UnknownKind(kind)
	case err != nil:
		return fmt.Errorf("create %s %s: %w", kind, o.GetName(), err)
	}
	return nil
}

// completion is the message of the condition Complete.
func completion(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1beta2.ConditionComplete); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}
