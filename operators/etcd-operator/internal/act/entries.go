package act

import (
	"context"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// advanceLog has raft's log grow through a voter. What is not appended in time is missing
// in the next Observation.
func (a *Actor) advanceLog(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.AdvanceLog) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := a.Etcd.AppendEntries(ctx, voters(c, obs), x.Entries)
	if timeIsUp(ctx, err) {
		return nil
	}
	return wrap(err, "let members write snapshots")
}
