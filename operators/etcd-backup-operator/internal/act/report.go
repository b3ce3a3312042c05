package act

import (
	"context"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Report writes a status once, and only if anything in it has changed. It fails with a
// conflict if the EtcdBackup has changed since b was read: then nothing is recorded. It
// returns the status as it is now.
func (a *Actor) Report(ctx context.Context, b *v1beta2.EtcdBackup, status v1beta2.BackupStatus) (v1beta2.BackupStatus, error) {
	next := b.DeepCopy()
	next.Status = status
	next.Status.Conditions = operator.Dated(b.DeepCopy().Status.Conditions, status.Conditions)
	written, err := operator.UpdateStatus(ctx, a.Client, next, &b.Status, &next.Status)
	if err != nil || !written {
		return b.Status, err
	}
	return next.Status, nil
}
