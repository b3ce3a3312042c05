package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
)

// errStale: the observation is out of date, and nothing was done.
var errStale = errors.New("the observation is out of date")

// errRefused: the API server rejects a Job, for good or for now.
var errRefused = errors.New("rejected")

// refused reports whether a person must fix something before an action can succeed.
func refused(err error) bool { return errors.Is(err, errRefused) }

// act carries one action out; nil is none. Each is safe to repeat.
func (r *Reconciler) act(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, a plan.Action) error {
	switch x := a.(type) {
	case plan.StartJob:
		return r.startJob(ctx, b, obs, x)
	case plan.DeleteJob:
		if x.Replaced { // in vain, if the next one is refused
			if err := r.stillChecked(ctx, obs); err != nil {
				return err
			}
		}
		return r.deleteJob(ctx, b, x)
	case plan.DeleteBackup:
		return r.deleteBackup(ctx, b)
	}
	return nil
}

// startJob makes a Job, if what was observed still holds at the API server itself: so
// neither a cache that lags nor a second operator starts a backup twice or beside
// another.
func (r *Reconciler) startJob(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, start plan.StartJob) error {
	var serverTime time.Time
	if err := r.stillHolds(withServerTime(ctx, &serverTime), b, obs); err != nil {
		return err
	}
	if err := r.stillChecked(ctx, obs); err != nil {
		return err
	}
	j, err := job.Build(b, start, serverTime, r.Image)
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, j)
	switch {
	case err == nil:
		r.Metrics.Started(client.ObjectKeyFromObject(b))
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.adopted(ctx, b, start.Name)
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fmt.Errorf("create Job %s: %w: %w", start.Name, errRefused, err)
	}
	return fmt.Errorf("create Job %s: %w", start.Name, err)
}

// stillHolds reads the EtcdBackup and its Jobs live.
func (r *Reconciler) stillHolds(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation) error {
	var live v1beta2.EtcdBackup
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(b), &live); err != nil {
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: the EtcdBackup is gone", errStale)
		}
		return fmt.Errorf("read EtcdBackup: %w", err)
	}
	if live.UID != b.UID || live.ResourceVersion != b.ResourceVersion {
		return fmt.Errorf("%w: the EtcdBackup has changed", errStale)
	}
	jobs, err := ownJobs(ctx, r.live, b)
	if err != nil {
		return err
	}
	var now, then []string
	for i := range jobs {
		now = append(now, jobs[i].Name)
	}
	for i := range obs.Jobs {
		then = append(then, obs.Jobs[i].Name)
	}
	slices.Sort(now)
	slices.Sort(then)
	if !slices.Equal(now, then) {
		return fmt.Errorf("%w: the Jobs are %v, not %v", errStale, now, then)
	}
	return nil
}

// adopted reports success if the Job that exists is this EtcdBackup's.
func (r *Reconciler) adopted(ctx context.Context, b *v1beta2.EtcdBackup, name string) error {
	var j batchv1.Job
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, &j); err != nil {
		return fmt.Errorf("read Job %s: %w", name, err)
	}
	if !metav1.IsControlledBy(&j, b) {
		return fmt.Errorf("%w: Job %s exists already and does not belong to this EtcdBackup: delete it", errRefused, name)
	}
	return nil
}

func (r *Reconciler) deleteJob(ctx context.Context, b *v1beta2.EtcdBackup, d plan.DeleteJob) error {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: d.Name}}
	err := r.Client.Delete(ctx, j, client.Preconditions{UID: new(types.UID(d.UID))}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	// Of another uid it is another Job, and the one that was meant is gone.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Job %s: %w", d.Name, err)
	}
	return nil
}

// deleteBackup deletes the EtcdBackup, unless it has changed since it was read. The status
// of its EtcdCluster has its results by then.
func (r *Reconciler) deleteBackup(ctx context.Context, b *v1beta2.EtcdBackup) error {
	if err := r.backedUp.updateBeforeDeletion(ctx, b); err != nil {
		return err
	}
	err := r.Client.Delete(ctx, b.DeepCopy(), client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete EtcdBackup: %w", err)
	}
	return nil
}
