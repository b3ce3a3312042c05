package act

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The actions of this file begin a cluster anew with a survivor's data (S13).

// survivorsPath is the annotation of a seed's permit; "/" is written "~1" in a JSON pointer.
const survivorsPath = annotationsPath + "/etcd.database.coreos.com~1survivor-permit"

// sameHolders compares what may hold a member's data, read live, with what was observed:
// Pods and volumes, by uid. A cache that lags would else hide a member that nobody asked.
func (a *Actor) sameHolders(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	if _, err := a.livePods(ctx, c, obs, SameHolders, isHolder); err != nil {
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
		if n++; refuses(SameHolderClaims, seen[claim.Name] != string(claim.UID)) {
			return fmt.Errorf("%w: PVC %s was not observed", ErrStale, claim.Name)
		}
	}
	if refuses(AllHolderClaims, n < len(seen)) {
		return fmt.Errorf("%w: there are other PVCs than were observed", ErrStale)
	}
	return a.noneUnseen(ctx, c, obs)
}

// isHolder reports whether a Pod is the one that was observed.
func isHolder(p *corev1.Pod, seen *facts.Pod) bool {
	return seen.UID == string(p.UID) && seen.DeletingSince.IsZero() == p.DeletionTimestamp.IsZero()
}

// canAdoptSurvivor looks whether the seed is still there, and no other Pod of the cluster
// can get clients: all are as they were observed, and have the role that they had.
func (a *Actor) canAdoptSurvivor(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.AdoptSurvivor) error {
	pods, err := a.livePods(ctx, c, obs, SameHolders, isHolder)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if refuses(NoOtherServes, name != x.Name && pods[name].Labels[v1beta2.LabelRole] == v1beta2.RoleVoter) {
			return fmt.Errorf("%w: Pod %s is not yet excluded from the client Service", ErrStale, name)
		}
	}
	if p := pods[x.Name]; refuses(SurvivorsSeed, p == nil || string(p.UID) != x.UID || !p.DeletionTimestamp.IsZero()) {
		return fmt.Errorf("%w: seed %s has changed", ErrStale, x.Name)
	}
	return nil
}

// revokeSurvivorPermit revokes a seed's permit to make a data dir.
func (a *Actor) revokeSurvivorPermit(ctx context.Context, c *v1beta2.EtcdCluster, x action.RevokeSurvivorPermit) error {
	return a.patchPod(ctx, c, x.Name, of(RevocationOfSeed, x.UID), op("remove", survivorsPath, nil))
}

// dropSeed deletes a seed's Pod, or its volume when no Pod has its name, if it was made for
// the recovery and the cluster has not begun with it.
func (a *Actor) dropSeed(ctx context.Context, c *v1beta2.EtcdCluster, x action.DropSeed) error {
	if refuses(SeedNotAdopted, c.Status.Bootstrap != nil && c.Status.Bootstrap.Token == x.Token) {
		return fmt.Errorf("%w: seed %s is the cluster", ErrStale, x.Name)
	}
	pod, err := a.livePod(ctx, c, x.Name)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read seed %s: %w", x.Name, err)
	case err == nil && refuses(SeedPod, x.PodUID == "" || survivor.Token(pod) != x.Token):
		return fmt.Errorf("%w: Pod %s exists, and is not the seed", ErrStale, x.Name)
	case err == nil:
		return a.deleteIf(ctx, SeedOfUID, pod, types.UID(x.PodUID), "", "delete seed "+x.Name)
	case refuses(SeedExists, x.ClaimUID == ""):
		return fmt.Errorf("%w: seed %s no longer exists", ErrStale, x.Name)
	}
	claim, err := a.observedClaim(ctx, c, x.Name, x.ClaimUID)
	if err != nil {
		return err
	}
	if refuses(SeedClaim, claim.Annotations[v1beta2.AnnotationSurvivorPermit] != x.Token) {
		return fmt.Errorf("%w: PVC %s is not the seed's", ErrStale, x.Name)
	}
	return a.deleteIf(ctx, ClaimAsRead, claim, claim.UID, claim.ResourceVersion, "delete the volume of seed "+x.Name)
}

// reseed makes a Pod a survivor's seed.
func (a *Actor) reseed(c *v1beta2.EtcdCluster, pod *corev1.Pod, r *facts.Recovery) error {
	return survivor.AddTo(pod, c, a.LauncherImage, task.Task{
		Survivor: r.Survivor, URL: member.ClientURL(c, r.Survivor),
		ClusterID: fmt.Sprintf("%016x", r.ClusterID), MemberID: fmt.Sprintf("%016x", r.MemberID), Committed: r.Committed,
		Name: r.Seed, PeerURL: member.PeerURL(c, r.Seed), Token: r.Token, DataDir: member.DataDir, Revision: r.BeginsAt,
	})
}
