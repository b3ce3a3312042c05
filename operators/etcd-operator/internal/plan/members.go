package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file change the member list, one settled change at a time
// (S3), and the marks on Pods that follow from it.

// setRoles writes on each Pod what its member is. The client Service and the
// PodDisruptionBudget follow the label.
func setRoles(v *facts.View) *step.Step {
	leaving := victim(v)
	var roles []action.PodRole
	var message string
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		if p == nil {
			continue
		}
		switch want := role(v, m, p, leaving); {
		case want != p.Role:
			message = fmt.Sprintf("labelled Pod %s as %s", p.Name, want)
			roles = append(roles, action.PodRole{Name: p.Name, UID: p.UID, Role: want})
		case v.IsUnproven(m, p):
			message = fmt.Sprintf("recorded that member %s serves after its restart", p.Name)
			roles = append(roles, action.PodRole{Name: p.Name, UID: p.UID, Role: want})
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return step.Do(action.SetRoles{Roles: roles}, v1beta2.ClusterReasonSettingRoles, message)
}

// role is what a member's Pod is to be marked as. A member that is not healthy
// keeps its mark: its readiness speaks for it.
func role(v *facts.View, m facts.Member, p *facts.Pod, leaving *facts.Member) facts.Role {
	switch {
	case p.Role == facts.Leaving && leaving != nil && leaving.ID == m.ID && canShrink(v, leaving):
		return facts.Leaving
	case p.Role == facts.Restarting && (p.From != "" || !p.DeletingSince.IsZero() || !v.Healthy[m.ID] || !shouldServeAgain(v, m)):
		return facts.Restarting
	case p.Role == facts.Defragmenting && (!v.Healthy[m.ID] || v.IsDefragmenting(p) || canDefragment(v, m)):
		return facts.Defragmenting
	case !m.Started:
		return p.Role
	case m.Learner && p.Role == facts.Joiner:
		return facts.Learner // before its start permit is revoked: it has had data (see IsWiped)
	case v.Answer(m) == nil:
		return p.Role
	case m.Learner || v.Answer(m).Learner:
		return facts.Learner
	case v.Healthy[m.ID]:
		return facts.Voter
	}
	return p.Role
}

// revokeStartPermits takes the permit to start from members that have started: it was for
// once (S2). That they are in the list as started says that they have had data, whether
// they answer or not. It comes before promote: a voter never has a permit to start without
// data, whatever its Pod loses.
func revokeStartPermits(v *facts.View) *step.Step {
	var pods []action.PodRef
	for _, m := range v.List {
		if p := v.PodOf[m.Name]; p != nil && p.StartPermit != nil && m.Started {
			pods = append(pods, action.PodRef{Name: p.Name, UID: p.UID})
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return step.Do(action.RevokeStartPermits{Pods: pods}, v1beta2.ClusterReasonMemberStarted, fmt.Sprintf("member %s has started", pods[len(pods)-1].Name))
}

// removeStrays removes members without a vote that will never start or are not
// wanted: what a crashed operator left half done, and learners that are lost.
func removeStrays(v *facts.View) *step.Step {
	for _, m := range v.List {
		if !m.Learner || m.IsUnmanaged() {
			continue
		}
		why := v.Loss(m)
		if why == "" && staying(v) >= v.Cluster.Size+v.Surplus() {
			why = fmt.Sprintf("there are %d voters already", len(v.Voters))
		}
		if why != "" && v.CanRemove(m) {
			return step.Do(removal(v, m), v1beta2.ClusterReasonMemberRemoved, fmt.Sprintf("removed learner %s: %s", v.NameOrID(m.ID), why))
		}
	}
	return nil
}

// staying counts the voters that are not lost, nor about to be.
func staying(v *facts.View) int {
	n := 0
	for _, m := range v.Voters {
		if !v.IsTerminatingOrLost(m) {
			n++
		}
	}
	return n
}

// promote gives one learner that has caught up its vote (S5).
func promote(v *facts.View) *step.Step {
	if len(v.Voters) >= v.Cluster.Size+v.Surplus() {
		return nil
	}
	if len(v.Voters) >= v.Cluster.Size && len(v.Healthy) < len(v.Voters) {
		return nil // see awaitMembers
	}
	for _, m := range v.List {
		if v.CanPromote(m) && !v.IsTerminatingOrLost(m) && !m.Foreign {
			return step.Do(action.Promote{ID: m.ID, Name: m.Name, Members: v.List}, v1beta2.ClusterReasonMemberPromoted, fmt.Sprintf("promoted learner %s, which has caught up, to voter %d of %d",
				m.Name, len(v.Voters)+1, v.Cluster.Size))
		}
	}
	return nil
}

// removeLost removes a voter that is lost, once its replacement waits, or at once
// if none is wanted: if the replacement can't be placed, nothing is removed, and a
// node that comes back heals it (S4). Nothing heals a member whose disk is empty, or which
// a CORRUPT alarm names (and etcd refuses writes as long as it does), and its Pod may be
// what takes the replacement's place: it is not waited for.
func removeLost(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		why := v.Loss(m)
		// One that leads is alive, whatever is known of its Pod.
		if why == "" || m.ID == v.Leader || !v.CanRemove(m) {
			continue
		}
		p := v.PodOf[m.Name]
		hopeless := v.IsCorrupt(m.ID) || (p != nil && (v.IsWiped(m, p) || crowdsOut(v, m, p)))
		if !hopeless && !hasReplacement(v) {
			continue // see awaitReplacement
		}
		if v.Answer(m) != nil { // as one that is ready it would count for the PodDisruptionBudget until it has ended
			if s := step.Drain(v, &m, facts.Leaving, v1beta2.ClusterReasonReplacingDeadMember, "its removal: "+why); s != nil {
				return s
			}
		}
		return step.Do(removal(v, m), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("removed member %s: %s", m.Name, why)).Explains(v1beta2.ConditionRecovering)
	}
	return nil
}

// hasReplacement reports whether those who stay and those who can take a place at once are
// as many as are wanted.
func hasReplacement(v *facts.View) bool {
	if canAnyJoin(v) {
		return true
	}
	n := 0
	for _, m := range v.List {
		if !v.IsTerminatingOrLost(m) && (!m.Learner || v.CaughtUp(m)) {
			n++
		}
	}
	return n >= v.Cluster.Size
}

func removal(v *facts.View, m facts.Member) action.RemoveMember {
	return action.RemoveMember{ID: m.ID, Name: m.Name, Members: v.List, Pod: v.PodOf[m.Name]}
}

// addLearner adds the members whose Pods wait, one after the other. Those that are
// about to wait too are waited for, so that all start together; none is added
// while one starts, which would find another list than the one it was told.
func addLearner(v *facts.View) *step.Step {
	joiner := nextLearner(v)
	switch {
	case joiner == nil:
		return nil
	case !v.Settled:
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonAddingMember, "waiting for the last membership change to settle")
	case othersAreAboutToJoin(v, joiner):
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonAddingMember, joinersProgress(v))
	}
	return step.Do(action.AddLearner{Name: joiner.Name, Members: v.List}, v1beta2.ClusterReasonMemberAdded, fmt.Sprintf("added member %s as a learner", joiner.Name))
}

// nextLearner is the Pod whose member is to be added next, at once or in a moment; nil if
// there is none.
func nextLearner(v *facts.View) *facts.Pod {
	joiners := v.Candidates()
	if v.Missing() <= 0 || len(joiners) == 0 || !joiners[0].CanJoin() || startingLearner(v) || growthWaits(v) {
		return nil
	}
	if v.Settled && (len(v.List) >= v.Cluster.Size+v.Surplus() || v.Learners() >= learnerLimit(v, joiners[0])) {
		return nil
	}
	if v.Settled && v.IsOnlyReplacing() && (v.MoveBlocker() != "" || joiners[0].Cordoned) {
		return nil // see awaitMove
	}
	return joiners[0]
}

// othersAreAboutToJoin reports whether Pods are expected to wait within moments, so that they
// are added together with one that waits already.
func othersAreAboutToJoin(v *facts.View, joiner *facts.Pod) bool {
	return learnerLimit(v, joiner) > 1 && slices.ContainsFunc(v.Candidates(), func(p *facts.Pod) bool {
		return !p.CanJoin() && p.Node != "" && p.Trouble == "" && p.NodeLostSince.IsZero() && v.Now.Sub(p.Created) < joinTogether
	})
}

// startingLearner reports whether a member that has a permit to start has not done so
// yet, though it should at any moment.
func startingLearner(v *facts.View) bool {
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		if !m.Started && p != nil && p.CanUsePermit() && p.NodeLostSince.IsZero() && step.PollInterval(v, p) == step.FastPoll {
			return true
		}
	}
	return false
}

// learnerLimit is how many learners there may be at a time: several only where
// every member, and the one to join, is known to apply the same limit (S3). Members
// with different limits would apply different lists, for good.
func learnerLimit(v *facts.View, joiner *facts.Pod) int {
	limit := joiner.Learners
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		if p == nil || p.Learners != limit {
			return 1
		}
		// One that has never started has only its image to tell.
		running := p.Version
		if a := v.Answer(m); a != nil {
			running = a.Version
		} else if m.Started {
			return 1
		}
		if !etcdversion.Parse(running).AtLeast(etcdversion.Version{Major: 3, Minor: 6}) {
			return 1
		}
	}
	if !etcdversion.Parse(joiner.Version).AtLeast(etcdversion.Version{Major: 3, Minor: 6}) {
		return 1
	}
	return max(1, limit)
}

// grantStartPermit lets a member start that is in the list, has never started, and whose
// launcher waits (S2). It starts after those that got a permit before it: an etcd that
// joins asks every other member first, and one that is just starting too accepts the
// connection and keeps it waiting for 7 s (etcd's request timeout). Whoever can be
// added is added first, so that the list does not change under it.
func grantStartPermit(v *facts.View) *step.Step {
	if !v.Settled || nextLearner(v) != nil {
		return nil
	}
	var members, before []string
	var elsewhere []facts.PeerURLs
	for _, m := range v.List {
		members = append(members, m.Name)
		if m.At != "" {
			elsewhere = append(elsewhere, facts.PeerURLs{Name: m.Name, At: m.At})
		}
		if p := v.PodOf[m.Name]; !m.Started && p != nil && p.CanUsePermit() {
			before = append(before, m.Name)
		}
	}
	slices.Sort(members)
	slices.Sort(before)
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		if m.Started || p == nil || !p.CanJoin() || p.CanUsePermit() || v.FewerLearners(p) {
			continue
		}
		permit := facts.StartPermit{Attempt: p.Answer.Attempt + 1, Members: members, Elsewhere: elsewhere, After: before, CatchUp: isCompacted(v)}
		return step.Do(action.GrantStartPermit{Name: p.Name, UID: p.UID, StartPermit: permit}, v1beta2.ClusterReasonStartingMember, fmt.Sprintf("granted member %s its start permit", p.Name))
	}
	return nil
}

// isCompacted reports whether the leader has most likely dropped the first entry of its
// log, so that it sends a snapshot to whoever joins. It drops entries when it has
// applied so many: every memorySnapshotCount from 3.6 on, and before
// DefaultSnapshotCount (both in etcdserver). The log of a restored seed begins with a
// snapshot.
func isCompacted(v *facts.View) bool {
	if v.Cluster.Fence.Adopted.Restore != "" || v.Cluster.Recovery != nil {
		return true
	}
	if etcdversion.Parse(v.Cluster.Version).AtLeast(etcdversion.Version{Major: 3, Minor: 6}) {
		return v.Applied > 100
	}
	return v.Applied > 100_000
}

// canShrink reports whether nothing is under way that is brought to its end first.
func canShrink(v *facts.View, victim *facts.Member) bool {
	return v.Cluster.Target == "" && !v.IsRestarting() && !slices.ContainsFunc(v.Voters, func(m facts.Member) bool {
		p := v.PodOf[m.Name]
		return p != nil && p.Role == facts.Defragmenting && (m.ID != victim.ID || v.IsDefragmenting(p))
	})
}

// shrink removes one member more than size asks for: its clients first, then its
// leadership, then its vote.
func shrink(v *facts.View) *step.Step {
	victim := victim(v)
	if victim == nil || !canShrink(v, victim) || removalBlocker(v, victim) != "" {
		return nil // a change of the version is brought to its end first
	}
	reason := v1beta2.ClusterReasonScalingDown
	if v.WhyMove(victim) != "" {
		reason = moveReason(v, victim)
	}
	if !v.CanRemove(*victim) {
		return step.Wait(step.Shortly, reason, fmt.Sprintf("waiting to remove member %s until the others keep quorum: %s", victim.Name, v.WhoIsMissing()))
	}
	if v.Healthy[victim.ID] && isOtherUnhealthy(v, victim) {
		return step.Wait(step.Shortly, reason, fmt.Sprintf("waiting to remove member %s until all others are healthy: %s", victim.Name, v.WhoIsMissing()))
	}
	if s := step.Drain(v, victim, facts.Leaving, reason, "its removal"); s != nil {
		return s
	}
	if v.WhyMove(victim) != "" {
		if s := step.AwaitUnrouted(v, victim, reason, "its removal"); s != nil {
			return s
		}
		said, message := replacedBy(v, victim)
		return step.Do(removal(v, *victim), said, message)
	}
	return step.Do(removal(v, *victim), v1beta2.ClusterReasonMemberRemoved, fmt.Sprintf("removed member %s, one of %d voters: %d wanted", victim.Name, len(v.Voters), v.Cluster.Size))
}

// isOtherUnhealthy reports whether a voter with a Pod of the operator's is not healthy, beside
// the one that is about to leave (S6). It would be the one to leave, were it the operator's
// to remove.
func isOtherUnhealthy(v *facts.View, victim *facts.Member) bool {
	return slices.ContainsFunc(v.Voters, func(m facts.Member) bool { return m.ID != victim.ID && !m.Foreign && !v.Healthy[m.ID] })
}

// victim is the voter to remove when there are too many: the one that is already leaving,
// else one that is not healthy, else one that is to be replaced, else a follower, the
// leader last (S6, S8). Among equals it is one on the node with the most members, then
// the youngest. It is none that is not the operator's to remove.
func victim(v *facts.View) *facts.Member {
	if len(v.Voters) <= v.Cluster.Size || v.Cluster.Size < 1 {
		return nil
	}
	onNode := map[string]int{}
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil {
			onNode[p.Node]++
		}
	}
	cost := func(m facts.Member) [5]int64 {
		p := v.PodOf[m.Name]
		if p == nil {
			return [5]int64{}
		}
		return [5]int64{
			boolInt(v.Healthy[m.ID]),
			boolInt(v.WhyMove(&m) == ""),
			boolInt(p.Role != facts.Leaving) + boolInt(m.ID == v.Leader),
			-int64(onNode[p.Node]),
			-p.Created.Unix(),
		}
	}
	var victim *facts.Member
	for _, m := range v.Voters {
		if m.IsUnmanaged() {
			continue
		}
		if victim == nil {
			victim = &m
			continue
		}
		if a, b := cost(m), cost(*victim); slices.Compare(a[:], b[:]) < 0 {
			victim = &m
		}
	}
	return victim
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
