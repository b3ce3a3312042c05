package act

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// FieldOwner is the operator's field manager in server-side apply.
const FieldOwner = client.FieldOwner("etcd-operator")

// Children brings the plain children of the EtcdCluster to what they are to be:
// the two Services, and the PodDisruptionBudget with the minAvailable of the
// decision (plan.KeepBudget and plan.NoBudget have their meaning). It writes
// nothing when they are so already.
func (a *Actor) Children(ctx context.Context, c *v1beta2.EtcdCluster, budget int) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for _, svc := range []*corev1.Service{member.PeerService(c), member.ClientService(c)} {
		if err := a.apply(ctx, c, svc, &corev1.Service{}); err != nil {
			return err
		}
	}
	switch budget {
	case plan.KeepBudget:
		return nil
	case plan.NoBudget:
		return a.deleteBudget(ctx, c)
	}
	return a.apply(ctx, c, member.DisruptionBudget(c, budget), &policyv1.PodDisruptionBudget{})
}

// apply brings one object to what is wanted, with current as the place to read
// what there is.
func (a *Actor) apply(ctx context.Context, c *v1beta2.EtcdCluster, want, current client.Object) error {
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(want), current)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kindOf(want), want.GetName(), err)
	case !metav1.IsControlledBy(current, c):
		return fmt.Errorf("%w: %s %s belongs to someone else", ErrStale, kindOf(want), want.GetName())
	case covers(current, want):
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", kindOf(want), want.GetName(), err)
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	gvk, err := a.Client.GroupVersionKindFor(want)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", kindOf(want), want.GetName(), err)
	}
	u.SetGroupVersionKind(gvk)
	return wrap(a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), FieldOwner, client.ForceOwnership), "apply "+kindOf(want)+" "+want.GetName())
}

// covers reports whether an object has all that is wanted of it; what others have
// added is theirs.
func covers(current, want client.Object) bool {
	if !contains(current.GetLabels(), want.GetLabels()) || !contains(current.GetAnnotations(), want.GetAnnotations()) {
		return false
	}
	switch w := want.(type) {
	case *corev1.Service:
		return equality.Semantic.DeepDerivative(w.Spec, current.(*corev1.Service).Spec)
	case *policyv1.PodDisruptionBudget:
		return equality.Semantic.DeepDerivative(w.Spec, current.(*policyv1.PodDisruptionBudget).Spec)
	}
	return false
}

func contains(all, some map[string]string) bool {
	merged := maps.Clone(all)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, some)
	return maps.Equal(merged, all) || len(merged) == 0 && len(all) == 0
}

// deleteBudget deletes the PodDisruptionBudget, if there is one of ours.
func (a *Actor) deleteBudget(ctx context.Context, c *v1beta2.EtcdCluster) error {
	var pdb policyv1.PodDisruptionBudget
	err := a.Client.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: member.DisruptionBudget(c, 1).Name}, &pdb)
	if apierrors.IsNotFound(err) || (err == nil && (!metav1.IsControlledBy(&pdb, c) || pdb.DeletionTimestamp != nil)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read PodDisruptionBudget: %w", err)
	}
	return client.IgnoreNotFound(wrap(a.Client.Delete(ctx, &pdb, client.Preconditions{UID: &pdb.UID}), "delete PodDisruptionBudget "+pdb.Name))
}

func kindOf(o client.Object) string {
	switch o.(type) {
	case *corev1.Service:
		return "Service"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	}
	return fmt.Sprintf("%T", o)
}
