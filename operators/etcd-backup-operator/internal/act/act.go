// Package act carries out one plan.Action, idempotently.
//
// Every effect carries its precondition: before a Job is created the EtcdBackup, its Jobs
// and the policy that checks its creator are read live; Jobs are deleted by uid, and an
// EtcdBackup as it was read. If one does not hold, nothing is done. ErrStale and a conflict
// mean that the EtcdBackup is to be observed again.
package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// ErrStale says that the observation is out of date, and that nothing was done.
var ErrStale = errors.New("the observation is out of date")

// ErrRefused says that the API server rejects a Job or an EtcdRestore, for good or for now. A person must fix something
// before the action can succeed.
var ErrRefused = errors.New("rejected")

// Actor carries actions out.
type Actor struct {
	// Client writes.
	Client client.Client
	// Live reads from the API server itself. One that [LiveReader] makes tells its clock, too.
	Live client.Reader
	// Creators are those of EtcdBackups.
	Creators *observe.Creators
	Metrics  *metrics.Metrics
	// Image is the operator's own, which Jobs run.
	Image string
	// BeforeDeletion is called with an EtcdBackup that is to be deleted. It is not, if that
	// fails.
	BeforeDeletion func(context.Context, *v1beta2.EtcdBackup) error
}

// Act carries one action out; nil is none. Each is safe to repeat.
func (a *Actor) Act(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, action plan.Action) error {
	switch x := action.(type) {
	case plan.StartJob:
		return a.startJob(ctx, b, obs, x)
	case plan.StartArchiver:
		return a.startArchiver(ctx, b, obs, x)
	case plan.StartCopy:
		return a.startCopy(ctx, b, obs, x)
	case plan.DeleteJob:
		if x.Replaced { // in vain, if the next one is refused
			if err := a.stillChecked(ctx, obs); err != nil {
				return err
			}
		}
		return a.deleteJob(ctx, b, x)
	case plan.StartVerification:
		return a.startVerification(ctx, b, obs, x)
	case plan.DeleteVerification:
		return a.deleteVerification(ctx, b, x)
	case plan.DeleteBackup:
		return a.deleteBackup(ctx, b)
	}
	return nil
}

// startJob makes a Job, if what was observed still holds at the API server itself: so
// neither a cache that lags nor a second operator starts a backup twice or beside
// another.
func (a *Actor) startJob(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, start plan.StartJob) error {
	var serverTime time.Time
	if err := a.mayStart(withServerTime(ctx, &serverTime), b, obs); err != nil {
		return err
	}
	j, err := job.Build(b, start, serverTime, a.Image)
	if err != nil {
		return err
	}
	return a.create(ctx, b, j, func() { a.Metrics.Started(client.ObjectKeyFromObject(b)) })
}

// create makes a Job. One that is there already is this EtcdBackup's, or another's. made is called
// if it was not.
func (a *Actor) create(ctx context.Context, b *v1beta2.EtcdBackup, j *batchv1.Job, made func()) error {
	err := a.Client.Create(ctx, j)
	switch {
	case err == nil:
		made()
		return nil
	case apierrors.IsAlreadyExists(err):
		return a.adopted(ctx, b, j.Name)
	case operator.IsRefused(err):
		return fmt.Errorf("create Job %s: %w: %w", j.Name, ErrRefused, err)
	}
	return fmt.Errorf("create Job %s: %w", j.Name, err)
}

// startArchiver makes the Job that records the archive, under the same conditions.
func (a *Actor) startArchiver(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, start plan.StartArchiver) error {
	if err := a.mayStart(ctx, b, obs); err != nil {
		return err
	}
	j, err := job.BuildArchiver(b, start, a.Image)
	if err != nil {
		return err
	}
	return a.create(ctx, b, j, func() {})
}

// startCopy makes the Job that copies a backup, under the same conditions.
func (a *Actor) startCopy(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, start plan.StartCopy) error {
	var serverTime time.Time
	if err := a.mayStart(withServerTime(ctx, &serverTime), b, obs); err != nil {
		return err
	}
	j, err := job.BuildCopier(b, start, serverTime, a.Image)
	if err != nil {
		return err
	}
	return a.create(ctx, b, j, func() {})
}

// sameBackup reads the EtcdBackup live.
func (a *Actor) sameBackup(ctx context.Context, b *v1beta2.EtcdBackup) error {
	var live v1beta2.EtcdBackup
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(b), &live); err != nil {
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: the EtcdBackup is gone", ErrStale)
		}
		return fmt.Errorf("read EtcdBackup: %w", err)
	}
	if live.UID != b.UID || live.ResourceVersion != b.ResourceVersion {
		return fmt.Errorf("%w: the EtcdBackup has changed", ErrStale)
	}
	return nil
}

// mayStart looks live whether a Job can be made as was decided.
func (a *Actor) mayStart(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation) error {
	if err := a.stillHolds(ctx, b, obs); err != nil {
		return err
	}
	return a.stillChecked(ctx, obs)
}

// stillHolds reads the EtcdBackup and its Jobs live.
func (a *Actor) stillHolds(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation) error {
	if err := a.sameBackup(ctx, b); err != nil {
		return err
	}
	jobs, _, err := observe.JobsOf(ctx, a.Live, a.Live, b)
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
	return sameNames("Jobs", now, then)
}

// sameNames holds the names of live objects against those that were observed.
func sameNames(kind string, now, then []string) error {
	slices.Sort(now)
	slices.Sort(then)
	if !slices.Equal(now, then) {
		return fmt.Errorf("%w: the %s are %v, not %v", ErrStale, kind, now, then)
	}
	return nil
}

// stillChecked reads the policy live, if the Job that is to be created, now or in the place of
// one that is deleted for it, rests on it.
func (a *Actor) stillChecked(ctx context.Context, obs *plan.Observation) error {
	if !plan.AsksCreator(*obs) {
		return nil
	}
	if c := a.Creators.Ask(ctx, obs.Now); !c.Passed {
		return fmt.Errorf("%w: the rights of the creator are not checked any more", ErrStale)
	}
	return nil
}

// adopted reports success if the Job that exists is this EtcdBackup's.
func (a *Actor) adopted(ctx context.Context, b *v1beta2.EtcdBackup, name string) error {
	var j batchv1.Job
	if err := a.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, &j); err != nil {
		return fmt.Errorf("read Job %s: %w", name, err)
	}
	if metav1.IsControlledBy(&j, b) {
		return nil
	}
	return nameTaken(b, &j, "Job", name)
}

// nameTaken reports that an object has the name of one that was to be created. An object that no controller owns might
// be the EtcdBackup's, so the user must not delete it unseen.
func nameTaken(b *v1beta2.EtcdBackup, o metav1.Object, kind, name string) error {
	if metav1.GetControllerOf(o) == nil {
		return fmt.Errorf("%w: %s", ErrRefused, plan.DoubtText(b, kind, name))
	}
	return fmt.Errorf("%w: %s %s exists already and does not belong to this EtcdBackup: delete it", ErrRefused, kind, name)
}

func (a *Actor) deleteJob(ctx context.Context, b *v1beta2.EtcdBackup, d plan.DeleteJob) error {
	return a.delete(ctx, "Job", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: d.Name}}, d.UID)
}

// delete deletes an object by uid. Of another uid it is another one, and the one that was meant is
// gone.
func (a *Actor) delete(ctx context.Context, kind string, o client.Object, uid string) error {
	err := a.Client.Delete(ctx, o, client.Preconditions{UID: new(types.UID(uid))}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s %s: %w", kind, o.GetName(), err)
	}
	return nil
}

// deleteBackup deletes the EtcdBackup, unless it has changed since it was read. The status
// of its EtcdCluster has its results by then.
func (a *Actor) deleteBackup(ctx context.Context, b *v1beta2.EtcdBackup) error {
	if err := a.BeforeDeletion(ctx, b); err != nil {
		return err
	}
	err := a.Client.Delete(ctx, b.DeepCopy(), client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete EtcdBackup: %w", err)
	}
	return nil
}
