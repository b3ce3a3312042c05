package act

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// FieldOwner is the operator's field manager in server-side apply.
const FieldOwner = client.FieldOwner("etcd-operator")

// Children applies the plain children of the EtcdCluster: its two Services, the labels and annotations of its
// Pods, and the PodDisruptionBudget with the minAvailable of the decision (plan.KeepBudget and plan.NoBudget
// have their meaning). It writes nothing if they are up to date.
//
// If one child fails, the others are still applied. Children that fail at the API server are returned as a
// RejectedError. A child whose precondition fails is returned as a StaleChildError. Children that are held back
// are not tried.
func (a *Actor) Children(ctx context.Context, c *v1beta2.EtcdCluster, budget int, heldBack ...facts.Rejection) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var refused *RejectedError
	var failed error
	try := func(r *facts.Rejection, apply func() error) {
		if slices.ContainsFunc(heldBack, r.SameEffect) {
			return
		}
		switch err := apply(); {
		case err == nil:
		case isRejection(err), isAnsweredConflict(err):
			refused = joinRejected(refused, rejected(c, *r, err))
		case errors.Is(err, ErrStale):
			failed = cmp.Or(failed, error(&StaleChildError{*r, err}))
		default:
			failed = cmp.Or(failed, err)
		}
	}
	labelled := false
	try(&facts.Rejection{Kind: facts.LabelMembers}, func() (err error) {
		labelled, err = a.metadata(ctx, c)
		return err
	})
	for _, svc := range []*corev1.Service{member.PeerService(c), member.ClientService(c)} {
		var current corev1.Service
		r := facts.Rejection{Kind: facts.ApplyService, Name: svc.Name}
		try(&r, func() error {
			err := a.applySelecting(ctx, c, svc, &current, labelled)
			r.Absent = svc.Name == member.PeerServiceName(c.Name) && current.UID == ""
			return err
		})
	}
	switch pdb := member.DisruptionBudget(c, max(budget, 1)); budget {
	case facts.KeepBudget:
	case facts.NoBudget:
		try(&facts.Rejection{Kind: facts.DeleteBudget, Name: pdb.Name}, func() error { return a.deleteBudget(ctx, c) })
	default:
		try(&facts.Rejection{Kind: facts.ApplyBudget, Name: pdb.Name}, func() error {
			return a.applySelecting(ctx, c, pdb, &policyv1.PodDisruptionBudget{}, labelled)
		})
	}
	if refused != nil {
		return errors.Join(failed, refused)
	}
	return failed
}

// applySelecting applies what selects Pods. While a cache shows a Pod without the owner's
// label, which an earlier release has made, what selects by name goes on to: no client is
// dropped. It is narrowed in a later pass, when the cache has the label from the API
// server, as others have by then.
func (a *Actor) applySelecting(ctx context.Context, c *v1beta2.EtcdCluster, want, current client.Object, labelled bool) error {
	if labelled {
		return a.apply(ctx, c, want, current)
	}
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(want), current)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s %s: %w", kindOf(want), want.GetName(), err)
	}
	if !member.SelectsByOwner(current) {
		member.SelectByName(want)
	}
	return a.apply(ctx, c, want, current)
}

// apply brings one object to what is wanted, with current as the place to read
// what there is. What belongs to someone else is not touched.
func (a *Actor) apply(ctx context.Context, c *v1beta2.EtcdCluster, want, current client.Object) error {
	if err := sign(want); err != nil {
		return fmt.Errorf("apply %s %s: %w", kindOf(want), want.GetName(), err)
	}
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(want), current)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kindOf(want), want.GetName(), err)
	case kindOf(want) == "PodDisruptionBudget" && refuses(BudgetIsOurs, !metav1.IsControlledBy(current, c)):
		// The cluster goes on without its budget; the status reports the conflict.
		return nil
	case kindOf(want) == "Service" && refuses(ServiceIsOurs, !metav1.IsControlledBy(current, c)):
		return fmt.Errorf("%w: %s %s belongs to someone else", ErrStale, kindOf(want), want.GetName())
	case covers(current, want):
		return nil
	}
	if err := a.unchanged(ctx, c, BeforeChild); err != nil {
		return err
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

// annotationApplied holds a hash of what was last applied, so that what is not
// wanted any more (an annotation that the user has taken away) is seen and removed.
const annotationApplied = v1beta2.GroupName + "/applied"

// sign writes the hash of an object on it.
func sign(o client.Object) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationApplied] = hex.EncodeToString(sum[:8])
	o.SetAnnotations(annotations)
	return nil
}

// covers reports whether an object has all that is wanted of it. What others have
// added is theirs, but for what it selects and serves.
func covers(current, want client.Object) bool {
	if !contains(current.GetLabels(), want.GetLabels()) || !contains(current.GetAnnotations(), want.GetAnnotations()) {
		return false
	}
	switch w := want.(type) {
	case *corev1.Service:
		is := current.(*corev1.Service).Spec
		return maps.Equal(w.Spec.Selector, is.Selector) && len(w.Spec.Ports) == len(is.Ports) && equality.Semantic.DeepDerivative(w.Spec, is)
	case *policyv1.PodDisruptionBudget:
		is := current.(*policyv1.PodDisruptionBudget).Spec
		return equality.Semantic.DeepEqual(w.Spec.Selector, is.Selector) && equality.Semantic.DeepDerivative(w.Spec, is)
	}
	return false
}

func contains(all, some map[string]string) bool {
	for k, v := range some {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// deleteBudget deletes the PodDisruptionBudget, if there is one of ours.
func (a *Actor) deleteBudget(ctx context.Context, c *v1beta2.EtcdCluster) error {
	var pdb policyv1.PodDisruptionBudget
	err := a.Client.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: member.DisruptionBudget(c, 1).Name}, &pdb)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read PodDisruptionBudget: %w", err)
	case refuses(BudgetIsOurs, !metav1.IsControlledBy(&pdb, c)), pdb.DeletionTimestamp != nil:
		return nil
	}
	if err := a.unchanged(ctx, c, BeforeNoBudget); err != nil {
		return err
	}
	return client.IgnoreNotFound(a.deleteIf(ctx, BudgetAsRead, &pdb, pdb.UID, "", "delete PodDisruptionBudget "+pdb.Name))
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
