package act

import (
	"context"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// recreatePod deletes the Pod of a member that serves, for another one on its volume, if all
// Pods of the cluster, read live, are as they were observed: no other member is down or
// about to be (S6). It is deleted as it was read. A crash after it leaves a volume without
// a Pod, for which the next Observation asks for one.
func (a *Actor) recreatePod(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.RecreatePod) error {
	pod, err := a.asObserved(ctx, c, obs, x.Name, x.UID)
	if err != nil {
		return err
	}
	if _, err := a.membersClaim(ctx, c, x.Name); err != nil {
		return err
	}
	if err := a.unchanged(ctx, c, BeforeRecreation); err != nil {
		return err
	}
	return a.deleteIf(ctx, RecreationAsRead, pod, pod.UID, pod.ResourceVersion, "delete Pod "+x.Name)
}
