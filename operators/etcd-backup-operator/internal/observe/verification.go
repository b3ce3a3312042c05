package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
)

// verifications are the EtcdRestores that verify backups, where Kubernetes knows the kind.
func (o *Observer) verifications(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation) error {
	if obs.VerifierServed = o.Restores.Served(); !obs.VerifierServed {
		return nil
	}
	restores, err := OwnRestores(ctx, o.Client, b)
	if err != nil {
		return err
	}
	for i := range restores {
		obs.Verifications = append(obs.Verifications, verificationOf(&restores[i]))
	}
	return nil
}

// OwnRestores are the EtcdRestores that this very EtcdBackup controls.
func OwnRestores(ctx context.Context, reader client.Reader, b *v1beta2.EtcdBackup) ([]v1beta2.EtcdRestore, error) {
	var list v1beta2.EtcdRestoreList
	if err := reader.List(ctx, &list, client.InNamespace(b.Namespace), client.MatchingLabels(job.Selector(b.Name))); err != nil {
		return nil, fmt.Errorf("list EtcdRestores: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(r v1beta2.EtcdRestore) bool { return !metav1.IsControlledBy(&r, b) }), nil
}

func verificationOf(r *v1beta2.EtcdRestore) plan.Verification {
	seen := plan.Verification{
		Name: r.Name, UID: string(r.UID), Revision: r.Spec.Revision, Created: r.CreationTimestamp.Time, Deleting: r.DeletionTimestamp != nil,
		Phase: r.Status.Phase, Finished: finished(r), Served: r.Status.Served.DeepCopy(),
	}
	if ref := r.Spec.BackupRef; ref != nil {
		seen.Backup = ref.Entry
	}
	if c := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionComplete); c != nil {
		seen.Reason, seen.Message = c.Reason, c.Message
	}
	if f := r.Status.Failure; f != nil {
		seen.Reason, seen.Message = f.Reason, f.Message
	}
	return seen
}

func finished(r *v1beta2.EtcdRestore) time.Time {
	if r.Status.CompletionTime == nil {
		return time.Time{}
	}
	return r.Status.CompletionTime.Time
}
