package operator

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// staleDelay lets a cache catch up with what is already written.
	staleDelay = 25 * time.Millisecond

	// retryFirst and retryMost bound the pause after a failed reconcile.
	retryFirst = 50 * time.Millisecond
	retryMost  = 30 * time.Second
)

// ControllerOptions are those of an operator's controllers. workers is how many objects are
// reconciled at a time.
func ControllerOptions(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
	}
}

// InScope reports whether an operator is the one to reconcile an object: cluster-wide ones
// reconcile those that are annotated with that scope, others those that are not.
func InScope(o client.Object, clusterWide bool) bool {
	return clusterWide == (o.GetAnnotations()[v1beta2.AnnotationScope] == v1beta2.ScopeClusterwide)
}

// Result is the end of a reconcile: the object is to be observed again after requeueAfter,
// and soon after an error that is stale or a conflict, for which nobody is to blame.
func Result(ctx context.Context, requeueAfter time.Duration, err, stale error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return ctrl.Result{RequeueAfter: requeueAfter}, nil
	case errors.Is(err, stale), apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("observing again", "because", err.Error())
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	}
	return ctrl.Result{}, err
}

// Sooner is the shorter of two waits, of which 0 is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// IsRefused reports whether a user must correct something before the API server accepts
// the request: a quota, a field.
func IsRefused(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
