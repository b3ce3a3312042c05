package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// isCopied reports whether the end of a copy is in the status.
func isCopied(b *v1beta2.EtcdBackup, entry string) bool {
	return slices.ContainsFunc(b.Status.History, func(r v1beta2.BackupRecord) bool { return r.Name == entry && r.Copy != nil })
}

// copier observes the Job that copies. It is read from the API server itself, where there may be
// one: its name is known.
func (o *Observer) copier(ctx context.Context, b *v1beta2.EtcdBackup, look *sighting.Look, obs *plan.Observation) (requeueAfter time.Duration, err error) {
	var j batchv1.Job
	key := client.ObjectKey{Namespace: b.Namespace, Name: plan.CopierName(b)}
	reader := o.Live
	if b.Spec.CopyTo == nil {
		reader = o.Client // what is left of it
	}
	err = reader.Get(ctx, key, &j)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read the Job of the copy: %w", err)
	case isInDoubt(&j):
		obs.Copier = &plan.Copier{Job: plan.Job{Name: j.Name}, InDoubt: true}
		return 0, nil
	case !metav1.IsControlledBy(&j, b):
		return 0, nil
	}
	copier := job.CopierOf(&j)
	copier.Job, requeueAfter, err = o.withPods(ctx, &j, isCopied(b, copier.Backup), look)
	if err != nil {
		return 0, err
	}
	obs.Copier = &copier
	return requeueAfter, nil
}
