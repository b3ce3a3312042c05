package observe

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
)

// JobsOf returns the Jobs of an EtcdBackup's backups, and those that might be such Jobs. The Job of its archive and
// the Job of its copies are not among them. reader lists by label. live finds a Job that the status calls active and
// that the list does not contain, because the cache lags or the labels were removed.
func JobsOf(ctx context.Context, reader, live client.Reader, b *v1beta2.EtcdBackup) (own []batchv1.Job, doubtful []plan.Doubtful, err error) {
	var list batchv1.JobList
	if err := reader.List(ctx, &list, client.InNamespace(b.Namespace), client.MatchingLabels(job.Selector(b.Name))); err != nil {
		return nil, nil, fmt.Errorf("list Jobs: %w", err)
	}
	jobs := list.Items
	for _, a := range b.Status.Active {
		if slices.ContainsFunc(jobs, func(j batchv1.Job) bool { return j.Name == a.Name }) {
			continue
		}
		var j batchv1.Job
		err := live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: a.Name}, &j)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("read Job %s: %w", a.Name, err)
		}
		if err == nil {
			jobs = append(jobs, j)
		}
	}
	for i := range jobs {
		switch j := &jobs[i]; {
		case j.Name == plan.ArchiverName(b) || j.Name == plan.CopierName(b):
		case metav1.IsControlledBy(j, b):
			own = append(own, *j)
		case isBackupInDoubt(b, j):
			doubtful = append(doubtful, plan.Doubtful{Name: j.Name, Scheduled: job.Scheduled(j)})
		}
	}
	return own, doubtful, nil
}

// isInDoubt reports whether a Job with a name that an EtcdBackup gave it might be the EtcdBackup's, although the
// EtcdBackup does not control it. Only another controller's reference is evidence that it is not.
func isInDoubt(j *batchv1.Job) bool { return metav1.GetControllerOf(j) == nil }

// isBackupInDoubt reports whether a Job might be that of a backup. Its name is a hash of the EtcdBackup's uid and the
// time when the backup was due, so a Job of an earlier EtcdBackup with the same name is not in doubt. Nor is
// a Job that has ended and whose end is recorded, or was before newer records took its place: nothing depends on it.
func isBackupInDoubt(b *v1beta2.EtcdBackup, j *batchv1.Job) bool {
	isActive := slices.ContainsFunc(b.Status.Active, func(a v1beta2.ActiveBackup) bool { return a.Name == j.Name })
	hasEnded := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	switch {
	case !isInDoubt(j):
		return false
	case hasEnded && !isActive && plan.IsDone(&b.Status, &plan.Job{Name: j.Name, Scheduled: job.Scheduled(j)}):
		return false
	}
	return isActive || j.Name == plan.JobName(b, job.Scheduled(j))
}

// podsOf returns the Pods of a Job, by the label that the Job controller uses. With the labels of the EtcdBackup, a Pod
// whose labels were edited would seem to be deleted, and its backup would be given up.
func podsOf(ctx context.Context, reader client.Reader, j *batchv1.Job) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.ControllerUidLabel: string(j.UID)}); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return metav1.GetControllerOf(&p) != nil && !metav1.IsControlledBy(&p, j)
	}), nil
}
