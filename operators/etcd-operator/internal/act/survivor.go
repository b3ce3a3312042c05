package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The actions of this file begin a cluster anew with a survivor's data (S13).

// survivorsPath is the annotation of a seed's permit; "/" is written "~1" in a JSON pointer.
const survivorsPath = annotationsPath + "/etcd.database.coreos.com~1survivor-permit"

// sameHolders compares what may hold a member's data, read live, with what was observed:
// Pods and volumes, by uid. A cache that lags would else hide a member that nobody asked.
func (a *Actor) sameHolders(ctx context.Context, c *v1beta2.EtcdCluster, obs *plan.Observation) error {
	if _, err := a.livePods(ctx, c, obs); err != nil {
		return err
	}
	var claims corev1.PersistentVolumeClaimList
	if err := a.Live.List(ctx, &claims, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return fmt.Errorf("list PVCs: %w", err)
	}
	seen := map[string]string{}
	for _, claim := range obs.Claims {
		seen[claim.Name] = claim.UID
	}
	n := 0
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !observe.IsMembers(claim, c) {
			continue
		}
		if n++; seen[claim.Name] != string(claim.UID) {
			return fmt.Errorf("%w: PVC %s was not observed", ErrStale, claim.Name)
		}
	}
	if n != len(seen) {
		return fmt.Errorf("%w: there are other PVCs than were observed", ErrStale)
	}
	return a.noneUnseen(ctx, c, obs)
}

// livePods reads the cluster's Pods, which must be those that were observed, by uid.
func (a *Actor) livePods(ctx context.Context, c *v1beta2.EtcdCluster, obs *plan.Observation) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := a.Live.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	var ours []corev1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		if !metav1.IsControlledBy(p, c) {
			continue
		}
		seen := podNamed(obs, p.Name)
		if seen == nil || seen.UID != string(p.UID) || seen.DeletingSince.IsZero() != p.DeletionTimestamp.IsZero() {
			return nil, fmt.Errorf("%w: Pod %s has changed", ErrStale, p.Name)
		}
		ours = append(ours, *p)
	}
	if len(ours) != len(obs.Pods) {
		return nil, fmt.Errorf("%w: there are other Pods than were observed", ErrStale)
	}
	return ours, nil
}

// canAdoptSurvivor looks whether the seed is still there, and no other Pod of the cluster
// can get clients: all are as they were observed, and have the role that they had.
func (a *Actor) canAdoptSurvivor(ctx context.Context, c *v1beta2.EtcdCluster, obs *plan.Observation, x plan.AdoptSurvivor) error {
	pods, err := a.livePods(ctx, c, obs)
	if err != nil {
		return err
	}
	found := false
	for i := range pods {
		p := &pods[i]
		if p.Name == x.Name {
			found = string(p.UID) == x.UID && p.DeletionTimestamp.IsZero()
			continue
		}
		if p.Labels[v1beta2.LabelRole] == v1beta2.RoleVoter {
			return fmt.Errorf("%w: Pod %s is not yet excluded from the client Service", ErrStale, p.Name)
		}
	}
	if !found {
		return fmt.Errorf("%w: seed %s has changed", ErrStale, x.Name)
	}
	return nil
}

// revokeSurvivorPermit revokes a seed's permit to make a data dir.
func (a *Actor) revokeSurvivorPermit(ctx context.Context, c *v1beta2.EtcdCluster, x plan.RevokeSurvivorPermit) error {
	return a.patchPod(ctx, c, x.Name, x.UID, op("remove", survivorsPath, nil))
}

// dropSeed deletes a seed's Pod, or its volume when no Pod has its name, if it was made for
// the recovery and the cluster has not begun with it.
func (a *Actor) dropSeed(ctx context.Context, c *v1beta2.EtcdCluster, x plan.DropSeed) error {
	if c.Status.Bootstrap != nil && c.Status.Bootstrap.Token == x.Token {
		return fmt.Errorf("%w: seed %s is the cluster", ErrStale, x.Name)
	}
	pod, err := a.livePod(ctx, c, x.Name)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read seed %s: %w", x.Name, err)
	case err == nil && (x.PodUID == "" || survivor.Token(pod) != x.Token):
		return fmt.Errorf("%w: Pod %s exists, and is not the seed", ErrStale, x.Name)
	case err == nil:
		uid := types.UID(x.PodUID)
		return staleIf(goneOrOther, a.Client.Delete(ctx, pod, client.Preconditions{UID: &uid}), "delete seed "+x.Name)
	case x.ClaimUID == "":
		return fmt.Errorf("%w: seed %s no longer exists", ErrStale, x.Name)
	}
	claim, err := a.membersClaim(ctx, c, x.Name)
	if err != nil {
		return err
	}
	if claim.Annotations[v1beta2.AnnotationSurvivorPermit] != x.Token {
		return fmt.Errorf("%w: PVC %s is not the seed's", ErrStale, x.Name)
	}
	uid := types.UID(x.ClaimUID)
	err = a.Client.Delete(ctx, claim, client.Preconditions{UID: &uid, ResourceVersion: &claim.ResourceVersion})
	return staleIf(goneOrOther, err, "delete the volume of seed "+x.Name)
}

// reseed makes a Pod a survivor's seed.
func (a *Actor) reseed(c *v1beta2.EtcdCluster, pod *corev1.Pod, r *plan.Recovery) error {
	return survivor.AddTo(pod, c, a.LauncherImage, task.Task{
		Survivor: r.Survivor, URL: member.ClientURL(c, r.Survivor),
		ClusterID: fmt.Sprintf("%016x", r.ClusterID), MemberID: fmt.Sprintf("%016x", r.MemberID), Committed: r.Committed,
		Name: r.Seed, PeerURL: member.PeerURL(c, r.Seed), Token: r.Token, DataDir: member.DataDir, Revision: r.BeginsAt,
	})
}
