package act

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Report writes the status of the decision, together with what its action records
// there, once, and only if anything in it has changed. It fails with a conflict if
// the EtcdCluster has changed since c was read: then nothing is recorded.
// It returns the EtcdCluster as it is now, and c itself if nothing was written.
func (a *Actor) Report(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision) (*v1beta2.EtcdCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	next := c.DeepCopy()
	next.Status = *d.Status.DeepCopy()
	next.Status.ServiceName = member.ClientService(c).Name
	next.Status.ClientPort = member.ClientPort
	next.Status.Selector = labels.SelectorFromSet(member.Selector(c.Name)).String()
	action.Record(d.Action, &next.Status)
	if b := next.Status.Bootstrap; b != nil && !b.Adopted { // the data of an earlier cluster keeps the history that it has
		b.AutoCompactionRetention = member.DefaultRetention(c)
	}
	keepForeign(&c.Status, &next.Status)
	next.Status.Conditions = replaceOwned(c.DeepCopy().Status.Conditions, d.Status.Conditions)
	fit(&next.Status)
	if equality.Semantic.DeepEqual(c.Status, next.Status) {
		return c, nil
	}
	if !demands(StatusAsRead) {
		next.ResourceVersion = ""
	}
	if err := a.Client.Status().Update(ctx, next); err != nil {
		_ = refuses(StatusAsRead, apierrors.IsConflict(err))
		return c, fmt.Errorf("write status: %w", err)
	}
	return next, nil
}
