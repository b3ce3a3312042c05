package act

import (
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

// Children brings the plain children of the EtcdCluster to what they are to be:
// the two Services, the labels and annotations of the Pods, and the PodDisruptionBudget
// with the minAvailable of the decision (plan.KeepBudget and plan.NoBudget have their
// meaning). It writes nothing when they are so already.
//
// What the API server refuses for good is a RejectedError: of the first Service that is,
// and of the budget. Those that are held back, refused just now, are not tried.
func (a *Actor) Children(ctx context.Context, c *v1beta2.EtcdCluster, budget int, heldBack ...facts.Rejection) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	held := heldChildren(heldBack)
	if held.has(facts.LabelMembers, "") {
		return nil // Services select by labels
	}
	labelled, err := a.metadata(ctx, c)
	if err != nil {
		return rejectedChild(c, facts.LabelMembers, "", err)
	}
	var refused *RejectedError
	if err := a.services(ctx, c, labelled, held); err != nil && !errors.As(err, &refused) {
		return err
	}
	err = a.budget(ctx, c, budget, labelled, held)
	if err != nil && !errors.As(err, new(*RejectedError)) {
		return err
	}
	if refused = joinRejected(refused, err); refused != nil {
		return refused
	}
	return nil
}

// heldChildren are those that are not tried.
type heldChildren []facts.Rejection

func (h heldChildren) has(kind, name string) bool {
	return slices.ContainsFunc(h, func(r facts.Rejection) bool { return r.Kind == kind && r.Name == name })
}

// services applies the Services up to the first one that is refused: what refuses it will
// refuse the next one, too, and one event is enough.
func (a *Actor) services(ctx context.Context, c *v1beta2.EtcdCluster, labelled bool, held heldChildren) error {
	for _, svc := range []*corev1.Service{member.PeerService(c), member.ClientService(c)} {
		if held.has(facts.ApplyService, svc.Name) {
			return nil
		}
		if err := a.applySelecting(ctx, c, svc, &corev1.Service{}, labelled); err != nil {
			return rejectedChild(c, facts.ApplyService, svc.Name, err)
		}
	}
	return nil
}

// budget brings the PodDisruptionBudget to the minAvailable of the decision.
func (a *Actor) budget(ctx context.Context, c *v1beta2.EtcdCluster, minAvailable int, labelled bool, held heldChildren) error {
	if minAvailable == facts.KeepBudget {
		return nil
	}
	want := member.DisruptionBudget(c, max(minAvailable, 1))
	if minAvailable == facts.NoBudget {
		if held.has(facts.DeleteBudget, want.Name) {
			return nil
		}
		return rejectedChild(c, facts.DeleteBudget, want.Name, a.deleteBudget(ctx, c))
	}
	if held.has(facts.ApplyBudget, want.Name) {
		return nil
	}
	return rejectedChild(c, facts.ApplyBudget, want.Name, a.applySelecting(ctx, c, want, &policyv1.PodDisruptionBudget{}, labelled))
}

// rejectedChild is the error of a child; a RejectedError if the API server has refused it.
func rejectedChild(c *v1beta2.EtcdCluster, kind, name string, err error) error {
	if !isRejection(err) {
		return err
	}
	return rejected(c, facts.Rejection{Kind: kind, Name: name}, err)
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
