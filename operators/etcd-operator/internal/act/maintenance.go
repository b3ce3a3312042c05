package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/consistency"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The actions of this file are on alarms and on space in the members' databases.

// callTime is for how long a member may answer that it has defragmented, or compacted its
// database. It goes on with that when nobody waits any more; the rest of the deadline is
// for what comes before and after.
const callTime = 5 * time.Second

// disarmAlarm takes an alarm back while the member list is the one decided on.
func (a *Actor) disarmAlarm(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.DisarmAlarm) error {
	if err := a.sameMembers(ctx, c, obs, x.Members); err != nil {
		return err
	}
	alarm := etcdclient.Alarm{MemberID: x.MemberID, Kind: etcdclient.AlarmKind(x.Alarm)}
	return wrap(a.Etcd.Disarm(ctx, voters(c, obs), alarm), fmt.Sprintf("disarm alarm %s", x.Alarm))
}

// compact compacts through a voter. One that has not done all of it in time does it all
// the same.
func (a *Actor) compact(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.Compact) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := a.Etcd.Compact(ctx, voters(c, obs), x.Revision)
	if timeIsUp(ctx, err) {
		return nil
	}
	return wrap(err, "compact")
}

// defragment has one member write its database anew, if all Pods of the cluster, read
// live, are as they were observed, and if it does not lead, unless it is alone. What is
// to be done is written on the Pod first: of two operators one gets to do it, and after a
// crash it is known that a member may be at it.
func (a *Actor) defragment(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.Defragment) error {
	pod, err := a.asObserved(ctx, c, obs, x.Name, x.UID)
	if err != nil {
		return err
	}
	var leaving []uint64
	if len(x.Members) > 1 {
		leaving = []uint64{x.ID}
	}
	if err := a.sameMembers(ctx, c, obs, x.Members, leaving...); err != nil {
		return err
	}
	seen := podNamed(obs, x.Name)
	begun := time.Now()
	if err := a.patchPod(ctx, c, x.Name, as(DefragmentAsRead, pod),
		annotation(v1beta2.AnnotationDefragmented, member.DefragmentedMark(begun, seen.Answer.DBSize, false))); err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err = a.Etcd.Defragment(call, observe.Endpoint(c, seen.Name, seen.IP))
	switch {
	case timeIsUp(call, err):
		return nil
	case err != nil:
		return fmt.Errorf("defragment member %s: %w", x.Name, err)
	}
	return a.patchPod(ctx, c, x.Name, of(DefragmentOfPod, x.UID), annotation(v1beta2.AnnotationDefragmented, member.DefragmentedMark(begun, seen.Answer.DBSize, true)))
}

// Comparisons compares members' data, beside everything else; consistency.Keeper does.
type Comparisons interface {
	Begin(ctx context.Context, key client.ObjectKey, uid types.UID, clusterID uint64, members []consistency.Member)
}

// compareData begins a comparison, in which the leader, through which all writes go, comes
// last.
func (a *Actor) compareData(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.CompareData) {
	var members []consistency.Member
	var leader uint64
	for _, m := range x.Members {
		p := podNamed(obs, m.Name)
		if p == nil {
			return // the planner names only members that answer
		}
		leader = p.Answer.Leader
		members = append(members, consistency.Member{ID: m.ID, Endpoint: observe.Endpoint(c, p.Name, p.IP), Size: p.Answer.DBSize, Revision: p.Answer.Revision})
	}
	slices.SortStableFunc(members, func(a, b consistency.Member) int {
		switch leader {
		case a.ID:
			return 1
		case b.ID:
			return -1
		}
		return 0
	})
	a.Comparisons.Begin(ctx, client.ObjectKeyFromObject(c), c.UID, obs.Cluster.ClusterID, members)
}

// timeIsUp reports whether a call was sent that etcd has not answered in time: it goes on,
// and what it does shows.
func timeIsUp(ctx context.Context, err error) bool {
	return errors.Is(err, etcdclient.ErrOutcomeUnknown) && ctx.Err() != nil
}
