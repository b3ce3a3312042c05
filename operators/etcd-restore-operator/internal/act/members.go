package act

import (
	"context"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// The actions of this file are on the cluster's Pods and volumes.

func (t *target) pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.cluster.Namespace, Name: name}}
}

// stopGrace is how long a member has to stop, in seconds: the least that there is. In
// good order it would take 7 s and more: etcd hands leadership over and waits for its
// clients' watches to end (its request timeout), and neither is of use where all members
// stop. What it has acknowledged is on its disk, and outlives its being killed.
const stopGrace = client.GracePeriodSeconds(1)

func (a *Actor) stopPods(ctx context.Context, t *target, x plan.StopPods) error {
	if err := a.stillPrepared(ctx, t, x.Seed); err != nil {
		return err
	}
	for _, p := range x.Pods {
		if err := a.delete(ctx, t.pod(p.Name), p.UID, stopGrace); err != nil {
			return err
		}
	}
	return nil
}

// stillPrepared makes sure that the seed for which members are stopped is ready to start at
// this very moment; without one there is nothing to look at.
func (a *Actor) stillPrepared(ctx context.Context, t *target, seed plan.Ref) error {
	if seed.Name == "" {
		return nil
	}
	pod := t.pod(seed.Name)
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return staleIf(apierrors.IsNotFound, err, "read seed "+seed.Name)
	}
	seen, _ := build.ObservePod(t.restore, pod, &sighting.Look{}) // no time matters here
	observe.AskLauncher(ctx, a.Network, pod, &seen)
	if refuses(Prepared, seen.UID != seed.UID || !seen.Seed || !seen.Prepared || !seen.Launched || seen.Ended != nil || !seen.Deleting.IsZero()) {
		return fmt.Errorf("%w: seed %s is no longer ready", ErrStale, seed.Name)
	}
	return nil
}

// retireClaims also retires what has lost the label that it takes away. One that is retired
// already is left alone, by whichever restore.
func (a *Actor) retireClaims(ctx context.Context, t *target, x plan.RetireClaims) error {
	return a.relabel(ctx, t, x.Claims, v1beta2.LabelCluster, mark{v1beta2.LabelRetiredBy, string(t.restore.UID)}, func(labels map[string]string) bool {
		_, retired := labels[v1beta2.LabelRetiredBy]
		return !retired
	})
}

func (a *Actor) returnClaims(ctx context.Context, t *target, x plan.ReturnClaims) error {
	return a.relabel(ctx, t, x.Claims, v1beta2.LabelRetiredBy, mark{v1beta2.LabelCluster, t.cluster.Name}, func(labels map[string]string) bool {
		return labels[v1beta2.LabelRetiredBy] == string(t.restore.UID)
	})
}

// mark is a label and its value.
type mark struct{ label, value string }

// relabel puts one label in the place of another, on each volume as it is read, if its labels
// are such as applies wants.
func (a *Actor) relabel(ctx context.Context, t *target, claims []plan.Ref, from string, to mark, applies func(labels map[string]string) bool) error {
	for _, ref := range claims {
		claim, err := a.liveClaim(ctx, t, ref)
		if err != nil {
			return err
		}
		if claim == nil || !applies(claim.Labels) {
			continue
		}
		if refuses(NotReturned, to.label == v1beta2.LabelRetiredBy && isReturned(claim, t.restore)) {
			return fmt.Errorf("%w: this restore has returned PVC %s", ErrStale, ref.Name)
		}
		ops := []jsonpatch.Operation{op("test", "/metadata/uid", claim.UID)}
		if demands(LabelledAsRead) {
			ops = append(ops, op("test", "/metadata/resourceVersion", claim.ResourceVersion))
		}
		if _, ok := claim.Labels[from]; ok {
			ops = append(ops, op("remove", labelPath(from), nil))
		}
		if len(claim.Labels) == 0 { // a patch adds to what is there
			ops = append(ops, op("add", "/metadata/labels", map[string]string{}))
		}
		if err := a.patch(ctx, claim, append(ops, op("add", labelPath(to.label), to.value))); err != nil {
			return err
		}
	}
	return nil
}

// isReturned reports whether a restore has said of a volume that it takes it no more.
func isReturned(claim *corev1.PersistentVolumeClaim, e *v1beta2.EtcdRestore) bool {
	return claim.Annotations[v1beta2.AnnotationReturnedBy] == string(e.UID)
}

// markReturned says so of each of the cluster's volumes. A request of this restore to retire one
// might still land, from before it was rolled back, and by the resourceVersion that it has it fails
// after that. Until all are marked nothing is known: one that was retired meanwhile is to be
// returned first.
func (a *Actor) markReturned(ctx context.Context, t *target) error {
	var list corev1.PersistentVolumeClaimList
	if err := a.Live.List(ctx, &list, client.InNamespace(t.cluster.Namespace), client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppEtcd}); err != nil {
		return fmt.Errorf("list PVCs: %w", err)
	}
	for i := range list.Items {
		claim := &list.Items[i]
		switch {
		case !member.Owns(t.cluster, claim):
			continue
		case claim.Labels[v1beta2.LabelRetiredBy] == string(t.restore.UID):
			return fmt.Errorf("%w: PVC %s is retired", ErrStale, claim.Name)
		case claim.Labels[v1beta2.LabelCluster] != t.cluster.Name || isReturned(claim, t.restore):
			continue
		}
		next := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, v1beta2.AnnotationReturnedBy, string(t.restore.UID))
		err := a.Client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{}))
		if err != nil && !apierrors.IsNotFound(err) {
			return staleIf(apierrors.IsConflict, err, "mark PVC "+claim.Name)
		}
	}
	return nil
}

// liveClaim reads a volume of the cluster live; nil if there is none.
func (a *Actor) liveClaim(ctx context.Context, t *target, ref plan.Ref) (*corev1.PersistentVolumeClaim, error) {
	var claim corev1.PersistentVolumeClaim
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: t.cluster.Namespace, Name: ref.Name}, &claim)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read PVC %s: %w", ref.Name, err)
	case refuses(ClaimIsClusters, string(claim.UID) != ref.UID || !member.Owns(t.cluster, &claim)):
		return nil, nil
	}
	return &claim, nil
}

// deleteRetired deletes old members' volumes, as they are read.
func (a *Actor) deleteRetired(ctx context.Context, t *target, x plan.DeleteRetired) error {
	for _, ref := range x.Claims {
		claim, err := a.liveClaim(ctx, t, ref)
		if err != nil {
			return err
		}
		if claim == nil {
			continue
		}
		if refuses(DeletedIsRetired, claim.Labels[v1beta2.LabelRetiredBy] != string(t.restore.UID)) {
			return fmt.Errorf("%w: PVC %s is not retired", ErrStale, ref.Name)
		}
		asRead := client.Preconditions{UID: &claim.UID}
		if demands(RetiredAsRead) {
			asRead.ResourceVersion = &claim.ResourceVersion
		}
		err = a.Client.Delete(ctx, claim, asRead)
		if err != nil && !apierrors.IsNotFound(err) {
			return staleIf(apierrors.IsConflict, err, "delete PVC "+ref.Name)
		}
	}
	return nil
}

func (a *Actor) createSeedClaim(ctx context.Context, t *target, x plan.CreateSeedClaim) error {
	claim := member.NewClaim(t.cluster, x.Name)
	if claim == nil {
		return fmt.Errorf("%w: the members of EtcdCluster %s have no volumes", ErrStale, t.cluster.Name)
	}
	_, err := a.create(ctx, claim, t.cluster)
	return err
}

func (a *Actor) createSeed(ctx context.Context, t *target, x plan.CreateSeed) error {
	if refuses(CertificatesExist, !plan.Trusts(t.cluster)) {
		return fmt.Errorf("%w: the certificates of EtcdCluster %s are not issued", ErrStale, t.cluster.Name)
	}
	pod, err := build.Seed(t.restore, t.cluster, x, a.Images.Operator)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	made, err := a.create(ctx, pod, t.cluster)
	if made && x.Want == nil {
		a.Metrics.Started(client.ObjectKeyFromObject(t.restore))
	}
	return err
}

// alone checks that the seed is the only Pod of the cluster that might run: old members that
// might are ignored only if the user accepts that, and they are being deleted.
func (a *Actor) alone(ctx context.Context, t *target, seed string) error {
	pods, err := a.livePods(ctx, t)
	if err != nil {
		return err
	}
	for i := range pods {
		p := &pods[i]
		if p.Name == seed || build.Stopped(p) || p.DeletionTimestamp != nil && t.restore.Spec.AcceptRunningOldMembers {
			continue
		}
		if refuses(Alone, true) {
			return fmt.Errorf("%w: Pod %s still exists", ErrStale, p.Name)
		}
	}
	return nil
}

// noSeed checks that no seed of this restore is left that nobody has told to stop, such as one that
// a person has created again.
func (a *Actor) noSeed(ctx context.Context, t *target) error {
	pods, err := a.livePods(ctx, t)
	if err != nil {
		return err
	}
	for i := range pods {
		seen, _ := build.ObservePod(t.restore, &pods[i], &sighting.Look{})
		if refuses(NoSeed, seen.Seed && seen.Deleting.IsZero()) {
			return fmt.Errorf("%w: seed %s still exists", ErrStale, seen.Name)
		}
	}
	return nil
}

// livePods are the Pods of the cluster, also those that have lost a label, or are new since the first
// of two lists.
func (a *Actor) livePods(ctx context.Context, t *target) ([]corev1.Pod, error) {
	pods, err := observe.PodsOf(ctx, a.Live, t.cluster)
	if err != nil {
		return nil, err
	}
	others, doubtful, err := observe.OtherPods(ctx, a.Live, t.restore, t.cluster, pods)
	if err == nil && len(doubtful) > 0 {
		err = fmt.Errorf("%w: %s might be the cluster's", ErrStale, doubtful[0].Object)
	}
	return append(pods, others...), err
}

func (a *Actor) deleteSeed(ctx context.Context, t *target, x plan.DeleteSeed) error {
	if pod, ok := t.offered(); refuses(SeedNotOffered, ok && pod.UID == x.UID) {
		return fmt.Errorf("%w: seed %s is handed over", ErrStale, x.Name)
	}
	return a.delete(ctx, t.pod(x.Name), x.UID, stopGrace)
}

func (a *Actor) deleteSeedClaim(ctx context.Context, t *target, x plan.DeleteSeedClaim) error {
	if pod, ok := t.offered(); refuses(VolumeNotOffered, ok && pod.Name == x.Name) {
		return fmt.Errorf("%w: seed %s is handed over", ErrStale, x.Name)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.cluster.Namespace, Name: x.Name}}
	return a.delete(ctx, claim, x.UID)
}

// permitStart gives the seed its start permit, and the label by which the cluster's
// Services select it as they do any other member.
func (a *Actor) permitStart(ctx context.Context, t *target, x plan.PermitStart) error {
	if err := a.alone(ctx, t, x.Name); err != nil {
		return err
	}
	pod := t.pod(x.Name)
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return staleIf(apierrors.IsNotFound, err, "read seed "+x.Name)
	}
	if refuses(PermitOfSamePod, pod.UID != types.UID(x.UID) || pod.DeletionTimestamp != nil) {
		return fmt.Errorf("%w: seed %s is another Pod, or is being deleted", ErrStale, x.Name)
	}
	const annotation = v1beta2.AnnotationRestorePermit
	if pod.Annotations[annotation] == string(t.restore.UID) {
		return nil
	}
	return a.patch(ctx, pod, []jsonpatch.Operation{
		op("test", "/metadata/uid", pod.UID),
		op("test", annotationPath(annotation), string(t.restore.UID)+task.Prepare),
		op("replace", annotationPath(annotation), t.restore.UID),
		op("add", labelPath(v1beta2.LabelOwner), t.cluster.UID),
	})
}

// withdrawPermit withdraws the seed's permit.
func (a *Actor) withdrawPermit(ctx context.Context, t *target, x plan.WithdrawPermit) error {
	pod := t.pod(x.Name)
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return staleIf(apierrors.IsNotFound, err, "read seed "+x.Name)
	}
	if refuses(RevocationOfPod, pod.UID != types.UID(x.UID)) {
		return fmt.Errorf("%w: seed %s is another Pod", ErrStale, x.Name)
	}
	if _, ok := pod.Annotations[v1beta2.AnnotationRestorePermit]; !ok {
		return nil
	}
	return a.patch(ctx, pod, []jsonpatch.Operation{
		op("test", "/metadata/uid", pod.UID),
		op("remove", annotationPath(v1beta2.AnnotationRestorePermit), nil),
	})
}
