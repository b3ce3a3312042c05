package act

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// Report writes the status of the decision and what its action records there, in one request, and only if
// something has changed. It fails with a conflict, and records nothing, if the EtcdCluster has changed since c
// was read. It returns a RejectedError if the API server rejects the write. Otherwise it returns the
// EtcdCluster as written, or c itself if nothing was written.
func (a *Actor) Report(ctx context.Context, c *v1beta2.EtcdCluster, d plan.Decision) (*v1beta2.EtcdCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	st := d.Status.DeepCopy()
	st.ServiceName = member.ClientServiceName(c.Name)
	st.ClientPort = member.ClientPort
	st.Selector = labels.SelectorFromSet(member.Selector(c.Name)).String()
	action.Record(d.Action, st)
	if b := st.Bootstrap; b != nil && !b.Adopted { // the data of an earlier cluster keeps the history that it has
		b.AutoCompactionRetention = member.DefaultRetention(c)
	}
	keepForeign(&c.Status, st)
	st.Conditions = replaceOwned(slices.Clone(c.Status.Conditions), d.Status.Conditions)
	fit(st)
	if equality.Semantic.DeepEqual(&c.Status, st) {
		return c, nil
	}
	next := c.DeepCopy()
	next.Status = *st
	if !demands(StatusAsRead) {
		next.ResourceVersion = ""
	}
	err := a.Client.Status().Update(ctx, next)
	if isRejection(err) {
		return c, rejected(c, facts.Rejection{Kind: facts.WritingStatus}, fmt.Errorf("write status: %w", err))
	}
	if err != nil {
		_ = refuses(StatusAsRead, apierrors.IsConflict(err))
		return c, fmt.Errorf("write status: %w", err)
	}
	return next, nil
}
