package act

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// The actions of this file are on the EtcdCluster: they make, remove and mark it.

func (a *Actor) createCluster(ctx context.Context, e *v1beta2.EtcdRestore, create plan.CreateCluster) error {
	c := build.Cluster(e, create)
	err := a.Client.Create(ctx, c)
	switch {
	case err == nil:
		return nil
	case operator.IsRefused(err):
		return fmt.Errorf("%w: %w", ErrRefused, err) // which names the object
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("create EtcdCluster %s: %w", c.Name, err)
	}
	var live v1beta2.EtcdCluster
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), &live); err != nil {
		return staleIf(apierrors.IsNotFound, err, "read EtcdCluster "+c.Name)
	}
	if live.Annotations[v1beta2.AnnotationRestoredBy] != string(e.UID) {
		return fmt.Errorf("%w: EtcdCluster %s already exists", ErrStale, c.Name)
	}
	return nil
}

// deleteCluster deletes an EtcdCluster that this restore has made, as it was read: a seed
// that is adopted meanwhile keeps it.
func (a *Actor) deleteCluster(ctx context.Context, t *target, d plan.DeleteCluster) error {
	c, uid := t.cluster, string(t.restore.UID)
	_, offered := t.offered()
	switch {
	case string(c.UID) != d.UID:
		return nil
	case c.Annotations[v1beta2.AnnotationRestoredBy] != uid:
		return fmt.Errorf("%w: this restore has not made EtcdCluster %s", ErrStale, c.Name)
	case c.Status.AdoptedSeed != nil && c.Status.AdoptedSeed.Restore == uid, offered:
		return fmt.Errorf("%w: EtcdCluster %s has been handed over", ErrStale, c.Name)
	}
	err := a.Client.Delete(ctx, c, client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return staleIf(apierrors.IsConflict, err, "delete EtcdCluster "+c.Name)
}

// askFence asks for the fence, of the EtcdCluster as it was observed.
func (a *Actor) askFence(ctx context.Context, t *target) error {
	return a.annotate(ctx, t, func(marks map[string]string) { marks[v1beta2.AnnotationFence] = string(t.restore.UID) })
}

// withdrawFence withdraws that request, if it is not acknowledged, also one that has not landed
// yet: the EtcdCluster changes, unless another has asked for it, and so has changed it.
func (a *Actor) withdrawFence(ctx context.Context, t *target) error {
	if refuses(NotAcknowledged, t.fenced()) {
		return fmt.Errorf("%w: the fence is acknowledged", ErrStale)
	}
	uid, marks := string(t.restore.UID), t.cluster.Annotations
	if mark := marks[v1beta2.AnnotationFence]; mark != uid && (t.isAnothers(mark) || marks[v1beta2.AnnotationFenceLifted] == uid) {
		return nil
	}
	t.observed = t.cluster
	return a.annotate(ctx, t, func(marks map[string]string) {
		delete(marks, v1beta2.AnnotationFence)
		marks[v1beta2.AnnotationFenceLifted] = uid
	})
}

// isAnothers reports whether the EtcdCluster is left to another restore, or, with this mark,
// might be soon.
func (t *target) isAnothers(mark string) bool {
	by, a := t.cluster.Status.FencedBy, t.cluster.Status.AdoptedSeed
	over := mark == t.cluster.Annotations[v1beta2.AnnotationFenceLifted] || a != nil && a.Restore == mark
	return by != "" && !t.fenced() || mark != "" && !over
}

// annotate changes annotations of the EtcdCluster at the resourceVersion that was
// observed.
func (a *Actor) annotate(ctx context.Context, t *target, change func(map[string]string)) error {
	next := t.observed.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	change(next.Annotations)
	how := client.MergeFrom(t.observed)
	if demands(MarkedAsRead) {
		how = client.MergeFromWithOptions(t.observed, client.MergeFromWithOptimisticLock{})
	}
	err := a.Client.Patch(ctx, next, how)
	return staleIf(goneOrChanged, err, "mark EtcdCluster "+next.Name)
}

// offered is the Pod, by name and uid, that the annotation seeded names as the seed of
// this restore; ok is false if it names none.
func (t *target) offered() (pod plan.Ref, ok bool) {
	parts := strings.Split(t.cluster.Annotations[v1beta2.AnnotationSeeded], "/")
	if len(parts) != 3 || parts[0] != string(t.restore.UID) {
		return plan.Ref{}, false
	}
	return plan.Ref{Name: parts[1], UID: parts[2]}, true
}

// handOff hands the seed over.
func (a *Actor) handOff(ctx context.Context, t *target, x plan.HandOff) error {
	ops := t.whileFenced()
	ops = append(ops, t.set(v1beta2.AnnotationSeeded, fmt.Sprintf("%s/%s/%s", t.restore.UID, x.Name, x.UID))...)
	return a.patchCluster(ctx, t, append(ops, t.dropFence()...))
}

// withdrawSeed withdraws that offer.
func (a *Actor) withdrawSeed(ctx context.Context, t *target) error {
	if _, ok := t.offered(); !ok {
		return nil
	}
	path := annotationPath(v1beta2.AnnotationSeeded)
	ops := append(t.whileFenced(),
		op("test", path, t.cluster.Annotations[v1beta2.AnnotationSeeded]),
		op("remove", path, nil))
	return a.patchCluster(ctx, t, ops)
}

// liftFence returns the cluster to etcd-operator, once none of its volumes can be retired any more
// and no seed is left.
func (a *Actor) liftFence(ctx context.Context, t *target) error {
	if err := a.markReturned(ctx, t); err != nil {
		return err
	}
	if err := a.noSeed(ctx, t); err != nil {
		return err
	}
	ops := append(t.whileFenced(), t.set(v1beta2.AnnotationFenceLifted, string(t.restore.UID))...)
	return a.patchCluster(ctx, t, append(ops, t.dropFence()...))
}

// whileFenced tests that it is this EtcdCluster, and that it is left to this restore.
func (t *target) whileFenced() []jsonpatch.Operation {
	if !demands(WhileFenced) {
		return nil
	}
	return []jsonpatch.Operation{op("test", "/metadata/uid", t.cluster.UID), op("test", "/status/fencedBy", t.restore.UID)}
}

// set sets an annotation. Where there is none, all of them are added, if that is still so.
func (t *target) set(annotation, value string) []jsonpatch.Operation {
	if len(t.cluster.Annotations) > 0 {
		return []jsonpatch.Operation{op("add", annotationPath(annotation), value)}
	}
	return []jsonpatch.Operation{
		op("test", "/metadata/resourceVersion", t.cluster.ResourceVersion),
		op("add", "/metadata/annotations", map[string]string{annotation: value}),
	}
}

// dropFence removes the annotation that asks for the fence, if it is ours.
func (t *target) dropFence() []jsonpatch.Operation {
	if t.cluster.Annotations[v1beta2.AnnotationFence] != string(t.restore.UID) {
		return nil
	}
	path := annotationPath(v1beta2.AnnotationFence)
	return []jsonpatch.Operation{op("test", path, t.restore.UID), op("remove", path, nil)}
}

// op is one operation of a JSON patch (RFC 6902).
var op = jsonpatch.NewOperation

// annotationPath is a JSON pointer, in which "/" is written "~1".
func annotationPath(annotation string) string {
	return "/metadata/annotations/" + strings.ReplaceAll(annotation, "/", "~1")
}

// labelPath is a JSON pointer to a label.
func labelPath(label string) string {
	return "/metadata/labels/" + strings.ReplaceAll(label, "/", "~1")
}

func (a *Actor) patchCluster(ctx context.Context, t *target, ops []jsonpatch.Operation) error {
	return a.patch(ctx, t.cluster.DeepCopy(), ops)
}

// patch patches an object, if all that ops test is as expected.
func (a *Actor) patch(ctx context.Context, o client.Object, ops []jsonpatch.Operation) error {
	data, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", kindOf(o), o.GetName(), err)
	}
	err = a.Client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, data))
	// A test that fails is reported as invalid.
	failed := func(err error) bool { return goneOrChanged(err) || apierrors.IsInvalid(err) }
	return staleIf(failed, err, fmt.Sprintf("patch %s %s", kindOf(o), o.GetName()))
}
