// Package act carries out one plan.Action, idempotently.
//
// Every effect carries its precondition: the EtcdRestore and the EtcdCluster are read live,
// what is done to a cluster that is fenced is done only while it is left to this restore,
// and objects are touched by uid. If one does not hold, nothing is done. ErrStale and a
// conflict mean that the EtcdRestore is to be observed again.
package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// ErrStale says that the world is not as it was observed: nothing was done.
var ErrStale = errors.New("the observation is out of date")

// ErrRefused says that the API server does not take an object as it is, or not now.
var ErrRefused = errors.New("rejected")

// Actor carries actions out.
type Actor struct {
	// Client writes.
	Client client.Client
	// Live reads from the API server itself.
	Live    client.Reader
	Metrics *metrics.Metrics
	// Images are those that the Job and the seed run.
	Images build.Images
	// Network reaches what runs in Pods; nil: the network there is.
	Network http.RoundTripper
}

// Act carries one action out; nil is none. Each is safe to repeat.
//
// Nothing is done unless the EtcdRestore, read live, is the one that was observed: so
// neither a cache that lags nor a second operator repeats what was done for it before.
func (a *Actor) Act(ctx context.Context, e *v1beta2.EtcdRestore, obs *plan.Observation, action plan.Action) error {
	if action == nil {
		return nil
	}
	if err := a.stillHolds(ctx, e); err != nil {
		return err
	}
	if !plan.MayBeAsked(e, action) {
		return fmt.Errorf("action %s is not allowed: EtcdRestore %s only verifies (spec.verifyOnly), and must not touch a cluster", action.Kind(), e.Name)
	}
	switch x := action.(type) {
	case plan.AddFinalizer:
		return a.setFinalizer(ctx, e, controllerutil.AddFinalizer)
	case plan.RemoveFinalizer:
		return a.setFinalizer(ctx, e, controllerutil.RemoveFinalizer)
	case plan.StartJob:
		return a.startJob(ctx, e, x)
	case plan.DeleteJob:
		return a.deleteJob(ctx, e, x)
	case plan.CreateCluster:
		return a.createCluster(ctx, e, x)
	default: // it is on a cluster that exists
	}
	c, err := a.liveCluster(ctx, obs)
	if err != nil {
		return err
	}
	if c == nil {
		if _, ok := action.(plan.DeleteCluster); ok {
			return nil
		}
		return fmt.Errorf("%w: the EtcdCluster was deleted", ErrStale)
	}
	return a.actOnCluster(ctx, &target{restore: e, cluster: c, observed: obs.Cluster}, action)
}

// target is what an action on a cluster is about.
type target struct {
	restore *v1beta2.EtcdRestore
	// cluster was read live just before; observed is what was decided on.
	cluster, observed *v1beta2.EtcdCluster
}

// fenced reports whether the cluster is left to this restore.
func (t *target) fenced() bool { return t.cluster.Status.FencedBy == string(t.restore.UID) }

// actOnCluster carries out an action on a cluster of the uid that was observed.
func (a *Actor) actOnCluster(ctx context.Context, t *target, action plan.Action) error {
	switch x := action.(type) {
	case plan.DeleteCluster:
		return a.deleteCluster(ctx, t, x)
	case plan.AskFence:
		return a.askFence(ctx, t)
	case plan.WithdrawFence:
		return a.withdrawFence(ctx, t)
	case plan.WithdrawPermit:
		return a.withdrawPermit(ctx, t, x)
	case plan.DeleteRetired:
		return a.deleteRetired(ctx, t, x)
	default:
	}
	if refuses(Fenced, !t.fenced()) {
		return fmt.Errorf("%w: the EtcdCluster is not left to this restore", ErrStale)
	}
	return a.actWhileFenced(ctx, t, action)
}

// actWhileFenced carries out an action that only the restore may take to which the
// cluster is left.
func (a *Actor) actWhileFenced(ctx context.Context, t *target, action plan.Action) error {
	switch x := action.(type) {
	case plan.StopPods:
		return a.stopPods(ctx, t, x)
	case plan.RetireClaims:
		return a.retireClaims(ctx, t, x)
	case plan.ReturnClaims:
		return a.returnClaims(ctx, t, x)
	case plan.CreateSeedClaim:
		return a.createSeedClaim(ctx, t, x)
	case plan.CreateSeed:
		return a.createSeed(ctx, t, x)
	case plan.PermitStart:
		return a.permitStart(ctx, t, x)
	case plan.DeleteSeed:
		return a.deleteSeed(ctx, t, x)
	case plan.DeleteSeedClaim:
		return a.deleteSeedClaim(ctx, t, x)
	case plan.HandOff:
		return a.handOff(ctx, t, x)
	case plan.WithdrawSeed:
		return a.withdrawSeed(ctx, t)
	case plan.LiftFence:
		return a.liftFence(ctx, t)
	case plan.AddFinalizer, plan.RemoveFinalizer, plan.StartJob, plan.DeleteJob, plan.CreateCluster, // act
		plan.DeleteCluster, plan.AskFence, plan.WithdrawFence, plan.WithdrawPermit, plan.DeleteRetired: // actOnCluster
	}
	return fmt.Errorf("action %s is not known", action.Kind())
}

// stillHolds reads the EtcdRestore live.
func (a *Actor) stillHolds(ctx context.Context, e *v1beta2.EtcdRestore) error {
	var live v1beta2.EtcdRestore
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(e), &live); err != nil {
		return staleIf(apierrors.IsNotFound, err, "read EtcdRestore")
	}
	if refuses(SameRestore, live.UID != e.UID || live.ResourceVersion != e.ResourceVersion) {
		return fmt.Errorf("%w: the EtcdRestore has changed", ErrStale)
	}
	return nil
}

// liveCluster reads the EtcdCluster live; nil if there is none.
func (a *Actor) liveCluster(ctx context.Context, obs *plan.Observation) (*v1beta2.EtcdCluster, error) {
	if obs.Cluster == nil {
		return nil, nil
	}
	var c v1beta2.EtcdCluster
	err := a.Live.Get(ctx, client.ObjectKeyFromObject(obs.Cluster), &c)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read EtcdCluster %s: %w", obs.Cluster.Name, err)
	case refuses(SameCluster, c.UID != obs.Cluster.UID):
		return nil, nil
	}
	return &c, nil
}

// setFinalizer adds or removes ours, of the EtcdRestore as it was read. Its status can be
// written after that.
func (a *Actor) setFinalizer(ctx context.Context, e *v1beta2.EtcdRestore, set func(client.Object, string) bool) error {
	before := e.DeepCopy()
	if !set(e, v1beta2.FinalizerRestore) {
		return nil
	}
	err := a.Client.Patch(ctx, e, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return staleIf(goneOrChanged, err, "write the finalizer of the EtcdRestore")
}

// startJob makes the Job.
func (a *Actor) startJob(ctx context.Context, e *v1beta2.EtcdRestore, start plan.StartJob) error {
	j, err := build.Job(e, start, a.Images)
	if err != nil {
		return err
	}
	made, err := a.create(ctx, j, e)
	if made {
		a.Metrics.Started(client.ObjectKeyFromObject(e))
	}
	return err
}

func (a *Actor) deleteJob(ctx context.Context, e *v1beta2.EtcdRestore, d plan.DeleteJob) error {
	return a.delete(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: d.Name}}, d.UID)
}

// create makes an object that owner controls, and reports whether it has. That it is
// there is success; that another of the name is is none.
func (a *Actor) create(ctx context.Context, o, owner client.Object) (made bool, err error) {
	err = a.Client.Create(ctx, o)
	switch {
	case err == nil:
		return true, nil
	case operator.IsRefused(err):
		return false, fmt.Errorf("%w: %w", ErrRefused, err) // which names the object
	case !apierrors.IsAlreadyExists(err):
		return false, fmt.Errorf("create %s %s: %w", kindOf(o), o.GetName(), err)
	}
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return false, staleIf(apierrors.IsNotFound, err, "read "+o.GetName())
	}
	switch {
	case belongs(o, owner):
	case metav1.GetControllerOf(o) == nil:
		return false, fmt.Errorf("%w: %s", ErrRefused, inDoubt(o, owner))
	default:
		return false, fmt.Errorf("%w: %s %s already exists, and belongs to something else: delete it", ErrRefused, kindOf(o), o.GetName())
	}
	return false, nil
}

// inDoubt describes an object that no controller owns, and that has the name of the object that create must create.
// Its owner references might have been edited.
func inDoubt(o, owner client.Object) string {
	if _, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim {
		return member.PVCInDoubt(o.GetNamespace(), o.GetName(), owner.GetName(), string(owner.GetUID()))
	}
	return conditiontext.InDoubt(o.GetNamespace(), kindOf(o), o.GetName(), kindOf(owner), owner.GetName(), string(owner.GetUID()))
}

// belongs reports whether an object is its owner's: a member's volume may be so without an
// owner reference.
func belongs(o, owner client.Object) bool {
	claim, isClaim := o.(*corev1.PersistentVolumeClaim)
	cluster, isCluster := owner.(*v1beta2.EtcdCluster)
	if isClaim && isCluster {
		return member.Owns(cluster, claim)
	}
	return metav1.IsControlledBy(o, owner)
}

// delete deletes an object by uid. Of another uid it is another object, and the one that
// was meant no longer exists.
func (a *Actor) delete(ctx context.Context, o client.Object, uid string, options ...client.DeleteOption) error {
	options = append(options, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if demands(DeletionOfSame) {
		options = append(options, client.Preconditions{UID: new(types.UID(uid))})
	}
	err := a.Client.Delete(ctx, o, options...)
	if err != nil && !goneOrChanged(err) {
		return fmt.Errorf("delete %s %s: %w", kindOf(o), o.GetName(), err)
	}
	return nil
}

// kindOf is the kind of an object, which one that was just built does not tell.
func kindOf(o client.Object) string { return reflect.TypeOf(o).Elem().Name() }

func goneOrChanged(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// staleIf turns an error that shows a failed precondition into ErrStale.
func staleIf(failed func(error) bool, err error, what string) error {
	switch {
	case err == nil:
		return nil
	case failed(err):
		return fmt.Errorf("%w: %s: %w", ErrStale, what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
