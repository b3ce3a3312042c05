package observe

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// archiver observes the Job that records an archive. It is read from the API server itself, as
// little as there is of it: its name is known.
func (o *Observer) archiver(ctx context.Context, b *v1beta2.EtcdBackup, look *sighting.Look, obs *plan.Observation) (requeueAfter time.Duration, err error) {
	if b.Spec.ArchiveInterval() == 0 && b.Status.Archive == nil {
		return 0, nil
	}
	var j batchv1.Job
	err = o.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: plan.ArchiverName(b)}, &j)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read the archiver's Job: %w", err)
	case isInDoubt(&j):
		obs.Archiver = &plan.Archiver{Name: j.Name, InDoubt: true}
		return 0, nil
	case !metav1.IsControlledBy(&j, b):
		return 0, nil
	}
	pods, err := podsOf(ctx, o.Client, &j)
	if err != nil {
		return 0, err
	}
	seen, pod, requeueAfter := job.ObserveArchiver(&j, pods, look)
	if pod != "" {
		seen.Progress = o.askProgress(ctx, pod)
	}
	obs.Archiver = &seen
	return requeueAfter, nil
}

// askProgress is what an archiver tells; nil if it does not answer.
func (o *Observer) askProgress(ctx context.Context, pod string) *task.ArchiveProgress {
	var p task.ArchiveProgress
	if agentpod.Ask(ctx, agentpod.Asker(o.Network), net.JoinHostPort(pod, strconv.Itoa(task.ArchivePort)), task.ArchivePath, &p) != nil {
		return nil
	}
	return &p
}
