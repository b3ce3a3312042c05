package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The actions of this file are on volumes that stay. Each claim is patched as it was read
// live: of another uid, or changed meanwhile, it is not.

// noOtherClaims looks, before a beginning is recorded, whether there are claims of the
// cluster's name that the beginning would be made over. Those of a seed that was given up
// are the cluster's own.
func (a *Actor) noOtherClaims(ctx context.Context, c *v1beta2.EtcdCluster, x action.RecordBootstrap) error {
	claims, err := a.liveClaims(ctx, c)
	if err != nil {
		return err
	}
	for i := range claims {
		mayStay := c.Status.Bootstrap != nil || x.Adopted
		stays := mayStay && member.Owns(c, &claims[i]) || x.Adopted && claims[i].Labels[v1beta2.LabelOwner] != ""
		if refuses(NoOtherClaims, !stays) {
			return fmt.Errorf("%w: PVC %s exists", ErrStale, claims[i].Name)
		}
	}
	return nil
}

// liveClaims are all claims of the cluster's name, whosever they are.
func (a *Actor) liveClaims(ctx context.Context, c *v1beta2.EtcdCluster) ([]corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	if err := a.Live.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list PVCs: %w", err)
	}
	return list.Items, nil
}

// growClaim expands a claim if no other is being expanded, and all Pods of the cluster, read live,
// are as they were observed: a member that another operator restarts at this moment is not joined by
// a second disruption (S6).
func (a *Actor) growClaim(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.GrowClaim) error {
	if _, err := a.livePods(ctx, c, obs, GrowsBesideSame, observe.SamePod); err != nil {
		return err
	}
	if err := a.noneUnseen(ctx, c, obs); err != nil {
		return err
	}
	claims, err := a.liveClaims(ctx, c)
	if err != nil {
		return err
	}
	var claim *corev1.PersistentVolumeClaim
	for i := range claims {
		p := &claims[i]
		requested, capacity := p.Spec.Resources.Requests.Storage(), p.Status.Capacity.Storage()
		switch {
		case !observe.IsMembers(p, c):
		case p.Name == x.Name && !refuses(GrowsAsObserved, string(p.UID) != x.UID || requested.Value() != x.From):
			claim = p
		case refuses(GrowsAlone, p.DeletionTimestamp == nil && !capacity.IsZero() && capacity.Cmp(*requested) < 0):
			return fmt.Errorf("%w: PVC %s is being expanded", ErrStale, p.Name)
		}
	}
	if claim == nil {
		return fmt.Errorf("%w: PVC %s has changed", ErrStale, x.Name)
	}
	if err := a.unchanged(ctx, c, BeforeGrowth); err != nil {
		return err
	}
	size := resource.NewQuantity(x.Size, resource.BinarySI)
	err = a.patchClaim(ctx, claim, map[string]any{
		"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size.String()}}},
	})
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return err
	}
	// What can't be done is noted where the next Observation finds it, so that it is not
	// tried over and over.
	if err := a.unchanged(ctx, c, BeforeGrowth); err != nil {
		return err
	}
	noted := a.patchClaim(ctx, claim, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1beta2.AnnotationGrowthRefused: observe.Refused(x.Size, time.Now(), words(err))}},
	})
	if noted != nil {
		return noted
	}
	return fmt.Errorf("%w: %w", errNoted, err)
}

// words are what the API server said.
func words(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// patchClaim merges fields into a claim, if it is as it was read.
func (a *Actor) patchClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, fields map[string]any) error {
	meta, _ := fields["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		fields["metadata"] = meta
	}
	if demands(PatchedAsRead) {
		meta["uid"], meta["resourceVersion"] = claim.UID, claim.ResourceVersion
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("patch PVC %s: %w", claim.Name, err)
	}
	live := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Namespace: claim.Namespace}}
	err = a.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, data))
	if apierrors.IsConflict(err) && a.Live.Get(ctx, client.ObjectKeyFromObject(live), live) == nil && live.UID == claim.UID && live.ResourceVersion == claim.ResourceVersion {
		return wrap(err, "patch volume "+claim.Name) // a webhook has answered so: the PVC is as it was read
	}
	return staleIf(PatchedAsRead, goneOrOther, err, "patch volume "+claim.Name)
}

// owned is how a claim's metadata says that it is the EtcdCluster's.
func owned(c *v1beta2.EtcdCluster, retain bool) map[string]any {
	if retain {
		return map[string]any{"ownerReferences": nil, "labels": map[string]any{v1beta2.LabelOwner: string(c.UID)}}
	}
	return map[string]any{"ownerReferences": []metav1.OwnerReference{member.Owner(c)}, "labels": map[string]any{v1beta2.LabelOwner: nil}}
}

func (a *Actor) keepClaims(ctx context.Context, c *v1beta2.EtcdCluster, x action.KeepClaims) error {
	return forEach(x.Claims, func(ref action.ClaimRef) error {
		return rejectedObject(c, x, ref.Name, a.keepClaim(ctx, c, x, ref))
	})
}

func (a *Actor) keepClaim(ctx context.Context, c *v1beta2.EtcdCluster, x action.KeepClaims, ref action.ClaimRef) error {
	claim, err := a.observedClaim(ctx, c, ref.Name, ref.UID)
	if err != nil {
		return err
	}
	if err := a.unchanged(ctx, c, BeforeKeeping); err != nil {
		return err
	}
	metadata, annotations := owned(c, x.Retain), map[string]any{}
	if x.Version != "" {
		annotations[member.AnnotationVersion] = x.Version
	}
	if x.Recovered {
		annotations[v1beta2.AnnotationSurvivorPermit] = nil
	}
	metadata["annotations"] = annotations
	return a.patchClaim(ctx, claim, map[string]any{"metadata": metadata})
}

func (a *Actor) takeClaims(ctx context.Context, c *v1beta2.EtcdCluster, x action.TakeClaims) error {
	for _, ref := range x.Claims {
		var claim corev1.PersistentVolumeClaim
		if err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, &claim); err != nil {
			return staleIf(StillThere, apierrors.IsNotFound, err, "read volume "+ref.Name)
		}
		theirs := member.IsRetained(&claim) && claim.Labels[v1beta2.LabelOwner] == x.From && claim.Labels[v1beta2.LabelCluster] == c.Name
		if refuses(SameClaim, string(claim.UID) != ref.UID) || refuses(TakenIsThere, claim.DeletionTimestamp != nil) || refuses(TakenIsRetained, !theirs) {
			return fmt.Errorf("%w: PVC %s has changed", ErrStale, ref.Name)
		}
		if err := a.unchanged(ctx, c, BeforeTaking); err != nil {
			return err
		}
		metadata := owned(c, c.Spec.RetainsVolumes())
		// In the same write: its launcher takes the data for a copy else.
		metadata["annotations"] = map[string]any{v1beta2.AnnotationFormerOwners: member.WithFormerOwner(&claim, x.From)}
		if err := a.patchClaim(ctx, &claim, map[string]any{"metadata": metadata}); err != nil {
			return err
		}
	}
	return nil
}
