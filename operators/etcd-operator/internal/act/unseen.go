package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Lists, cached or live, find objects by their labels, and anyone may take a label away.
// The functions of this file find a member's Pod and claim by name, and put the labels
// back that the operator owns. Nothing here is asked while all members are observed.

// NoneUnseen returns ErrStale if a member has a Pod or a PVC that was not observed. The
// controller calls it before the status reports, without an action, that the data of a majority is lost.
// Actions make this check themselves.
func (a *Actor) NoneUnseen(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	return a.noneUnseen(ctx, c, obs)
}

// noneUnseen reads live, by name, the Pods and claims of members that were not observed.
// If one of them exists, a list does not show it: its labels are put back, and the cluster
// is to be observed again. So no member counts as gone because a label is.
func (a *Actor) noneUnseen(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	for _, name := range knownNames(c, obs) {
		if podNamed(obs, name) == nil {
			if err := a.noUnseenPod(ctx, c, obs, name); err != nil {
				return err
			}
		}
		if err := a.noUnseenClaim(ctx, c, obs, name); err != nil {
			return err
		}
	}
	return nil
}

// knownNames are the names of the cluster's members, as etcd, the status, Pods and claims
// tell them, in order. A member whose peer URL a person has changed has its Pod all the same;
// what a person has added has another name.
func knownNames(c *v1beta2.EtcdCluster, obs *facts.Observation) []string {
	names := map[string]bool{}
	for i := range obs.Pods {
		p := &obs.Pods[i]
		names[p.Name] = true
		if p.Answer.ClusterID != obs.Cluster.ClusterID {
			continue
		}
		for _, m := range p.Answer.Members {
			if !m.Foreign {
				names[m.Name] = true
			}
		}
	}
	for _, claim := range obs.Claims {
		names[claim.Name] = true
	}
	for _, d := range c.Status.MemberDetails {
		if !d.Unmanaged || member.IsName(c.Name, d.Name) {
			names[d.Name] = true
		}
	}
	if b := c.Status.Bootstrap; b != nil && c.Status.ClusterID == "" {
		names[b.Member] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// isDoubtful reports whether the Observation lists a Pod or PVC with this name as doubtful.
func isDoubtful(obs *facts.Observation, name string) bool {
	return slices.ContainsFunc(obs.Doubtful, func(d facts.Doubtful) bool { return d.Name == name })
}

// noUnseenPod reads live a member's Pod that was not observed.
func (a *Actor) noUnseenPod(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, name string) error {
	pod, err := a.livePod(ctx, c, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read Pod %s: %w", name, err)
	case refuses(NoDoubtfulPod, !isDoubtful(obs, name) && metav1.GetControllerOf(pod) == nil):
		return fmt.Errorf("%w: %s", ErrStale, facts.DoubtfulPod(c.Namespace, name, c.Name, string(c.UID)).Advice)
	case !metav1.IsControlledBy(pod, c):
		return nil
	}
	if err := a.labelPod(ctx, c, pod); err != nil {
		return err
	}
	if refuses(NoUnseenPod, true) {
		return fmt.Errorf("%w: Pod %s exists and was not observed: lost labels are restored", ErrStale, name)
	}
	return nil
}

// noUnseenClaim reads live a member's claim that was not observed: it may have lost its
// labels, and a cache may lag behind a restore that has given volumes back.
func (a *Actor) noUnseenClaim(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, name string) error {
	if !c.Spec.Persistent() || slices.ContainsFunc(obs.Claims, func(p facts.Claim) bool { return p.Name == name }) {
		return nil
	}
	var claim corev1.PersistentVolumeClaim
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &claim)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read PVC %s: %w", name, err)
	}
	_, retired := claim.Labels[v1beta2.LabelRetiredBy]
	switch {
	case retired:
		return nil
	case isDoubtful(obs, name):
		return nil
	case member.Owns(c, &claim):
		if err := a.labelClaim(ctx, c, &claim); err != nil {
			return err
		}
		if refuses(NoUnseenClaim, true) {
			return fmt.Errorf("%w: PVC %s exists and was not observed: lost labels are restored", ErrStale, name)
		}
	case refuses(NoDoubtfulClaim, member.IsInDoubt(c, &claim)): // it might hold the member's data (S9, S12)
		return fmt.Errorf("%w: %s", ErrStale, facts.DoubtfulPVC(c.Namespace, name, c.Name, string(c.UID)).Advice)
	}
	return nil
}

// podLabels puts back the labels of members' Pods that a list does not find. Without that one
// which is needed for a quorum would count as lost for ever: no action is decided on, and so
// nothing else looks for it.
func (a *Actor) podLabels(ctx context.Context, c *v1beta2.EtcdCluster, found map[string]bool) error {
	var failed []error
	for _, name := range knownNames(c, &facts.Observation{}) {
		if found[name] {
			continue
		}
		if err := a.noUnseenPod(ctx, c, &facts.Observation{}, name); !errors.Is(err, ErrStale) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// labelClaim puts back the labels of a claim of the cluster, in one patch of it as it was
// read. It writes nothing when they are there.
func (a *Actor) labelClaim(ctx context.Context, c *v1beta2.EtcdCluster, claim *corev1.PersistentVolumeClaim) error {
	labels := member.ClaimLabels(c, claim.Name)
	if contains(claim.Labels, labels) {
		return nil
	}
	if err := a.unchanged(ctx, c, BeforeLabels); err != nil {
		return err
	}
	err := a.patchClaim(ctx, claim, map[string]any{"metadata": map[string]any{"labels": labels}})
	if errors.Is(err, ErrStale) {
		return nil // it has changed, and is looked at again
	}
	return err
}

// claimLabels puts back the labels of the cluster's claims: of those that a list finds, and
// of those that it does not find although a Pod mounts them.
func (a *Actor) claimLabels(ctx context.Context, c *v1beta2.EtcdCluster, pods []corev1.Pod) error {
	var list corev1.PersistentVolumeClaimList
	if err := a.Client.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return fmt.Errorf("list PVCs: %w", err)
	}
	var failed []error
	found := map[string]bool{}
	for i := range list.Items {
		claim := &list.Items[i]
		if !observe.IsMembers(claim, c) {
			continue
		}
		found[claim.Name] = true
		failed = append(failed, a.labelClaim(ctx, c, claim))
	}
	for i := range pods {
		p := &pods[i]
		if !mounts(p, p.Name) || found[p.Name] || !metav1.IsControlledBy(p, c) || p.DeletionTimestamp != nil {
			continue
		}
		if err := a.noUnseenClaim(ctx, c, &facts.Observation{}, p.Name); !errors.Is(err, ErrStale) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// mounts reports whether a Pod uses a claim.
func mounts(p *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}
