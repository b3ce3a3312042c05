package act

import (
	"context"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// Etcd asks members, and changes the membership of a running cluster through any
// of its voters; etcdclient.Client is one.
type Etcd interface {
	Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer
	AddLearner(ctx context.Context, via []etcdclient.Endpoint, peerURL string) (uint64, error)
	Promote(ctx context.Context, via []etcdclient.Endpoint, id uint64) error
	Remove(ctx context.Context, via []etcdclient.Endpoint, id uint64) error
	// MoveLeader asks the leader itself.
	MoveLeader(ctx context.Context, leader etcdclient.Endpoint, id uint64) error
	Disarm(ctx context.Context, via []etcdclient.Endpoint, alarm etcdclient.Alarm) error
	Compact(ctx context.Context, via []etcdclient.Endpoint, revision int64) error
	// Defragment asks the member itself.
	Defragment(ctx context.Context, member etcdclient.Endpoint) error
	EnableDowngrade(ctx context.Context, via []etcdclient.Endpoint, to string) error
	CancelDowngrade(ctx context.Context, via []etcdclient.Endpoint) error
	AppendEntries(ctx context.Context, via []etcdclient.Endpoint, n int) error
}

// voters are the members through which a change can be made: those whose
// linearizable read succeeded, the leader first, since it needs to ask nobody.
func voters(c *v1beta2.EtcdCluster, obs *facts.Observation) []etcdclient.Endpoint {
	var leader, others []etcdclient.Endpoint
	for i := range obs.Pods {
		p := &obs.Pods[i]
		switch a := &p.Answer; {
		case !a.Read || a.ClusterID != obs.Cluster.ClusterID:
		case a.Leader == a.MemberID:
			leader = append(leader, observe.Endpoint(c, p.Name, p.IP))
		default:
			others = append(others, observe.Endpoint(c, p.Name, p.IP))
		}
	}
	return append(leader, others...)
}
