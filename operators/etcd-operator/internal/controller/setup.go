package controller

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// nodeIndex finds the Pods of a node.
const nodeIndex = "spec.nodeName"

// SetupWithManager registers the watches. workers is how many clusters are
// reconciled at a time; one of them waits at most for its own members.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	byName := handler.EnqueueRequestsFromMapFunc(ofName)
	byLabel := handler.EnqueueRequestsFromMapFunc(ofLabel)
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1beta2.EtcdCluster{}, builder.WithPredicates(notOnlyStatus)).
		Watches(&corev1.Pod{}, byLabel).
		Watches(&corev1.PersistentVolumeClaim{}, byLabel).
		Watches(&corev1.Service{}, byName).
		Watches(&policyv1.PodDisruptionBudget{}, byName, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&discoveryv1.EndpointSlice{}, byLabel).
		WithOptions(operator.ControllerOptions(workers))
	if r.Observer.Nodes != nil {
		byNode := func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }
		if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, nodeIndex, byNode); err != nil {
			return err
		}
		b = b.Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.ofNode), builder.WithPredicates(readinessChanged))
	}
	// It runs when this operator is the one that works.
	begin := manager.RunnableFunc(func(context.Context) error { r.begin(); return nil })
	if err := mgr.Add(begin); err != nil {
		return err
	}
	return b.Complete(r)
}

// ofLabel maps an object to the cluster that its label names.
func ofLabel(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1beta2.LabelCluster]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

// ofName maps an object to the clusters that need its name, whoever it belongs to: one
// of somebody else's is in their way, until it is gone.
func ofName(_ context.Context, o client.Object) []reconcile.Request {
	names := []string{o.GetName()}
	if cluster, ok := strings.CutSuffix(o.GetName(), "-client"); ok {
		names = append(names, cluster)
	}
	var all []reconcile.Request
	for _, name := range names {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}})
	}
	return all
}

// ofNode maps a node to the clusters that have Pods on it.
func (r *Reconciler) ofNode(ctx context.Context, node client.Object) []reconcile.Request {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{nodeIndex: node.GetName()}); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the Pods of a node", "node", node.GetName())
		return nil
	}
	var all []reconcile.Request
	for i := range pods.Items {
		all = append(all, ofLabel(ctx, &pods.Items[i])...)
	}
	return all
}

// notOnlyStatus passes what users and other operators change of an EtcdCluster, and not its
// status: only this operator writes that, and looks again when it has decided to.
var notOnlyStatus = predicate.Or[client.Object](
	predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{},
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			!slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}},
)

// readinessChanged passes only what matters of a node: that it is there, and
// whether it is ready, and takes Pods.
var readinessChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return ready(e.ObjectOld) != ready(e.ObjectNew) || cordoned(e.ObjectOld) != cordoned(e.ObjectNew)
	},
}

func cordoned(o client.Object) bool { return o.(*corev1.Node).Spec.Unschedulable }

func ready(o client.Object) corev1.ConditionStatus {
	for _, c := range o.(*corev1.Node).Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
