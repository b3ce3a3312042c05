package act

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// Report writes a status once, and only if anything in it has changed. It fails with a
// conflict if the EtcdRestore has changed since e was read: then nothing is recorded. It
// returns the status as it is now.
func (a *Actor) Report(ctx context.Context, e *v1beta2.EtcdRestore, status v1beta2.RestoreStatus) (v1beta2.RestoreStatus, error) {
	next := e.DeepCopy()
	next.Status = status
	next.Status.Conditions = operator.Dated(e.DeepCopy().Status.Conditions, status.Conditions)
	written, err := operator.UpdateStatus(ctx, a.Client, next, &e.Status, &next.Status)
	if err != nil || !written {
		return e.Status, err
	}
	a.Metrics.Changed(client.ObjectKeyFromObject(e), &e.Status, &next.Status)
	return next.Status, nil
}
