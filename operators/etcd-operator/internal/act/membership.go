package act

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// sameMembers looks at the member list, and then at the EtcdCluster once more: etcd may have
// taken its time. Its own strict-reconfig-check guards the moment that remains between this and
// the change.
func (a *Actor) sameMembers(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, want []facts.Member, leaving ...uint64) error {
	if _, err := a.sameList(ctx, c, obs, want, leaving...); err != nil {
		return err
	}
	return a.unchanged(ctx, c, BeforeEtcd)
}

// sameList reads the member list with linearizable consistency and compares it with the one
// that was decided on. None of leaving may lead (S8): a leader that is removed from two may end
// before the other knows. It returns what those who were asked have said.
func (a *Actor) sameList(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, want []facts.Member, leaving ...uint64) (map[string]etcdclient.Answer, error) {
	answers := a.Etcd.Ask(ctx, voters(c, obs))
	for _, answer := range answers {
		if refuses(LeadsNot, slices.Contains(leaving, answer.Leader)) {
			return nil, fmt.Errorf("%w: member %x leads now", ErrStale, answer.Leader)
		}
	}
	listed := false
	for _, answer := range answers {
		listed = listed || len(answer.Members) > 0 && slices.Equal(observe.Members(c, answer.Members), want)
	}
	if refuses(SameMembers, !listed) {
		return nil, fmt.Errorf("%w: the member list has changed, or cannot be read", ErrStale)
	}
	return answers, nil
}

func (a *Actor) addLearner(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.AddLearner) error {
	if err := a.sameMembers(ctx, c, obs, x.Members); err != nil {
		return err
	}
	_, err := a.Etcd.AddLearner(ctx, voters(c, obs), member.PeerURL(c, x.Name))
	return wrap(err, "add member "+x.Name)
}

func (a *Actor) promote(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.Promote) error {
	if err := a.sameMembers(ctx, c, obs, x.Members); err != nil {
		return err
	}
	return wrap(a.Etcd.Promote(ctx, voters(c, obs), x.ID), "promote member "+x.Name)
}

// removeMember removes a member while those who stay answer as a quorum, and all Pods are still
// as they were observed: its own, since one that has come back, or got a start permit, is not the
// one that was decided on; and the others', since those who are to stay a quorum may lose their
// data with them (S4). Nor does it remove one whose Pod or volume is there although it was not
// seen (S9; see noneUnseen). etcd, which may take its time, is asked first: a Pod that is deleted
// by force while its kubelet is not heard of still answers, and only the API server tells.
func (a *Actor) removeMember(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.RemoveMember) error {
	answers, err := a.sameList(ctx, c, obs, x.Members, x.ID)
	if err != nil {
		return err
	}
	if refuses(QuorumStays, !isQuorumWithout(x, answers)) {
		return fmt.Errorf("%w: those who stay without member %s do not answer as a quorum", ErrStale, x.Name)
	}
	pods, err := a.allAsObserved(ctx, c, obs)
	if err != nil {
		return err
	}
	pod, seen := pods[x.Name], x.Pod
	both := pod != nil && seen != nil
	if refuses(RemovedPod, (pod == nil) != (seen == nil) || both && string(pod.UID) != seen.UID) ||
		both && (refuses(RemovedPermit, !observe.SameStartPermit(c, pod, seen)) || refuses(RemovedNotBack, observe.HasComeBack(pod, seen))) {
		return fmt.Errorf("%w: Pod %s has changed", ErrStale, x.Name)
	}
	if err := a.noUnseenClaim(ctx, c, obs, x.Name); err != nil {
		return err
	}
	if err := a.unchanged(ctx, c, BeforeEtcd); err != nil {
		return err
	}
	return wrap(a.Etcd.Remove(ctx, voters(c, obs), x.ID), "remove member "+x.Name)
}

// isQuorumWithout reports whether, of the voters that stay when a member is removed, a majority
// has answered and has a leader.
func isQuorumWithout(x action.RemoveMember, answers map[string]etcdclient.Answer) bool {
	follow := map[uint64]bool{}
	for _, a := range answers {
		follow[a.MemberID] = a.Reached && a.Leader != 0
	}
	stay, healthy := 0, 0
	for _, m := range x.Members {
		if m.Learner || m.ID == x.ID {
			continue
		}
		stay++
		if follow[m.ID] {
			healthy++
		}
	}
	return quorum.Holds(healthy, stay)
}

func (a *Actor) transferLeadership(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.TransferLeadership) error {
	p := podNamed(obs, x.From)
	if refuses(Observed, p == nil) {
		return fmt.Errorf("%w: leader %s was not observed", ErrStale, x.From)
	}
	return wrap(a.Etcd.MoveLeader(ctx, observe.Endpoint(c, p.Name, p.IP), x.ToID), "move leadership to "+x.To)
}
