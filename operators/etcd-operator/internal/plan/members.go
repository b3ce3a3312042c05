package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file change the member list, one settled change at a time
// (S3), and the marks on Pods that follow from it.

// setRoles writes on each Pod what its member is. The client Service and the
// PodDisruptionBudget follow the label.
func setRoles(v *view) *step {
	leaving := v.victim()
	var roles []PodRole
	var message string
	for _, m := range v.list {
		p := v.pods[m.Name]
		if p == nil {
			continue
		}
		switch want := v.role(m, p, leaving); {
		case want != p.Role:
			message = fmt.Sprintf("labelled Pod %s as %s", p.Name, want)
			roles = append(roles, PodRole{p.Name, p.UID, want})
		case v.isUnproven(m, p):
			message = fmt.Sprintf("recorded that member %s serves after its restart", p.Name)
			roles = append(roles, PodRole{p.Name, p.UID, want})
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return do(SetRoles{roles}, v1beta2.ClusterReasonSettingRoles, message)
}

// role is what a member's Pod is to be marked as. A member that is not healthy
// keeps its mark: its readiness speaks for it.
func (v *view) role(m Member, p *Pod, leaving *Member) Role {
	switch {
	case p.Role == Leaving && leaving != nil && leaving.ID == m.ID && v.canShrink(leaving):
		return Leaving
	case p.Role == Restarting && (p.From != "" || !p.DeletingSince.IsZero() || !v.healthy[m.ID] || !v.shouldServeAgain(m)):
		return Restarting
	case p.Role == Defragmenting && (!v.healthy[m.ID] || v.isDefragmenting(p) || v.canDefragment(m)):
		return Defragmenting
	case !m.Started:
		return p.Role
	case m.Learner && p.Role == Joiner:
		return Learner // before its start permit is revoked: it has had data (see isWiped)
	case v.answer(m) == nil:
		return p.Role
	case m.Learner || v.answer(m).Learner:
		return Learner
	case v.healthy[m.ID]:
		return Voter
	}
	return p.Role
}

// revokeStartPermits takes the permit to start from members that have started: it was for
// once (S2). That they are in the list as started says that they have had data, whether
// they answer or not. It comes before promote: a voter never has a permit to start without
// data, whatever its Pod loses.
func revokeStartPermits(v *view) *step {
	var pods []PodRef
	for _, m := range v.list {
		if p := v.pods[m.Name]; p != nil && p.StartPermit != nil && m.Started {
			pods = append(pods, PodRef{p.Name, p.UID})
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return do(RevokeStartPermits{pods}, v1beta2.ClusterReasonMemberStarted, fmt.Sprintf("member %s has started", pods[len(pods)-1].Name))
}

// removeStrays removes members without a vote that will never start or are not
// wanted: what a crashed operator left half done, and learners that are lost.
func removeStrays(v *view) *step {
	for _, m := range v.list {
		if !m.Learner || m.isUnmanaged() {
			continue
		}
		why := v.loss(m)
		if why == "" && v.staying() >= v.Cluster.Size+v.surplus() {
			why = fmt.Sprintf("there are %d voters already", len(v.voters))
		}
		if why != "" && v.canRemove(m) {
			return do(v.remove(m), v1beta2.ClusterReasonMemberRemoved, fmt.Sprintf("removed learner %s: %s", v.nameOrID(m.ID), why))
		}
	}
	return nil
}

// staying counts the voters that are not lost, nor about to be.
func (v *view) staying() int {
	n := 0
	for _, m := range v.voters {
		if !v.isTerminatingOrLost(m) {
			n++
		}
	}
	return n
}

// promote gives one learner that has caught up its vote (S5).
func promote(v *view) *step {
	if len(v.voters) >= v.Cluster.Size+v.surplus() {
		return nil
	}
	if len(v.voters) >= v.Cluster.Size && len(v.healthy) < len(v.voters) {
		return nil // see awaitMembers
	}
	for _, m := range v.list {
		if v.canPromote(m) && !v.isTerminatingOrLost(m) && !m.Foreign {
			return do(Promote{m.ID, m.Name, v.list}, v1beta2.ClusterReasonMemberPromoted, fmt.Sprintf("promoted learner %s, which has caught up, to voter %d of %d",
				m.Name, len(v.voters)+1, v.Cluster.Size))
		}
	}
	return nil
}

// removeLost removes a voter that is lost, once its replacement waits, or at once
// if none is wanted: if the replacement can't be placed, nothing is removed, and a
// node that comes back heals it (S4). Nothing heals a member whose disk is empty, or which
// a CORRUPT alarm names (and etcd refuses writes as long as it does), and its Pod may be
// what takes the replacement's place: it is not waited for.
func removeLost(v *view) *step {
	for _, m := range v.voters {
		why := v.loss(m)
		// One that leads is alive, whatever is known of its Pod.
		if why == "" || m.ID == v.leader || !v.canRemove(m) {
			continue
		}
		p := v.pods[m.Name]
		hopeless := v.isCorrupt(m.ID) || (p != nil && (v.isWiped(m, p) || v.crowdsOut(m, p)))
		if !hopeless && !v.hasReplacement() {
			continue // see awaitReplacement
		}
		if v.answer(m) != nil { // as one that is ready it would count for the PodDisruptionBudget until it has ended
			if s := v.drain(&m, Leaving, v1beta2.ClusterReasonReplacingDeadMember, "its removal: "+why); s != nil {
				return s
			}
		}
		return do(v.remove(m), v1beta2.ClusterReasonReplacingDeadMember, fmt.Sprintf("removed member %s: %s", m.Name, why)).explains(v1beta2.ConditionRecovering)
	}
	return nil
}

// hasReplacement reports whether those who stay and those who can take a place at once are
// as many as are wanted.
func (v *view) hasReplacement() bool {
	if v.canAnyJoin() {
		return true
	}
	n := 0
	for _, m := range v.list {
		if !v.isTerminatingOrLost(m) && (!m.Learner || v.caughtUp(m)) {
			n++
		}
	}
	return n >= v.Cluster.Size
}

func (v *view) remove(m Member) RemoveMember {
	return RemoveMember{ID: m.ID, Name: m.Name, Members: v.list, Pod: v.pods[m.Name]}
}

// addLearner adds the members whose Pods wait, one after the other. Those that are
// about to wait too are waited for, so that all start together; none is added
// while one starts, which would find another list than the one it was told.
func addLearner(v *view) *step {
	joiner := v.nextLearner()
	switch {
	case joiner == nil:
		return nil
	case !v.settled:
		return wait(fastPoll, v1beta2.ClusterReasonAddingMember, "waiting for the last membership change to settle")
	case v.othersAreAboutToJoin(joiner):
		return wait(fastPoll, v1beta2.ClusterReasonAddingMember, v.joinersProgress())
	}
	return do(AddLearner{joiner.Name, v.list}, v1beta2.ClusterReasonMemberAdded, fmt.Sprintf("added member %s as a learner", joiner.Name))
}

// nextLearner is the Pod whose member is to be added next, at once or in a moment; nil if
// there is none.
func (v *view) nextLearner() *Pod {
	joiners := v.candidates()
	if v.missing() <= 0 || len(joiners) == 0 || !joiners[0].canJoin() || v.startingLearner() || v.growthWaits() {
		return nil
	}
	if v.settled && (len(v.list) >= v.Cluster.Size+v.surplus() || v.learners() >= v.learnerLimit(joiners[0])) {
		return nil
	}
	if v.settled && v.isOnlyReplacing() && (v.moveBlocker() != "" || joiners[0].Cordoned) {
		return nil // see awaitMove
	}
	return joiners[0]
}

// othersAreAboutToJoin reports whether Pods are expected to wait within moments, so that they
// are added together with one that waits already.
func (v *view) othersAreAboutToJoin(joiner *Pod) bool {
	return v.learnerLimit(joiner) > 1 && slices.ContainsFunc(v.candidates(), func(p *Pod) bool {
		return !p.canJoin() && p.Node != "" && p.Trouble == "" && p.NodeLostSince.IsZero() && v.Now.Sub(p.Created) < joinTogether
	})
}

// startingLearner reports whether a member that has a permit to start has not done so
// yet, though it should at any moment.
func (v *view) startingLearner() bool {
	for _, m := range v.list {
		p := v.pods[m.Name]
		if !m.Started && p != nil && p.canUsePermit() && p.NodeLostSince.IsZero() && v.pollInterval(p) == fastPoll {
			return true
		}
	}
	return false
}

func (v *view) learners() int { return len(v.list) - len(v.voters) }

// learnerLimit is how many learners there may be at a time: several only where
// every member, and the one to join, is known to apply the same limit (S3). Members
// with different limits would apply different lists, for good.
func (v *view) learnerLimit(joiner *Pod) int {
	limit := joiner.Learners
	for _, m := range v.list {
		p := v.pods[m.Name]
		if p == nil || p.Learners != limit {
			return 1
		}
		// One that has never started has only its image to tell.
		running := p.Version
		if a := v.answer(m); a != nil {
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
func grantStartPermit(v *view) *step {
	if !v.settled || v.nextLearner() != nil {
		return nil
	}
	var members, before []string
	var elsewhere []PeerURLs
	for _, m := range v.list {
		members = append(members, m.Name)
		if m.At != "" {
			elsewhere = append(elsewhere, PeerURLs{m.Name, m.At})
		}
		if p := v.pods[m.Name]; !m.Started && p != nil && p.canUsePermit() {
			before = append(before, m.Name)
		}
	}
	slices.Sort(members)
	slices.Sort(before)
	for _, m := range v.list {
		p := v.pods[m.Name]
		if m.Started || p == nil || !p.canJoin() || p.canUsePermit() || v.fewerLearners(p) {
			continue
		}
		permit := StartPermit{Attempt: p.Answer.Attempt + 1, Members: members, Elsewhere: elsewhere, After: before, CatchUp: v.isCompacted()}
		return do(GrantStartPermit{p.Name, p.UID, permit}, v1beta2.ClusterReasonStartingMember, fmt.Sprintf("granted member %s its start permit", p.Name))
	}
	return nil
}

// isCompacted reports whether the leader has most likely dropped the first entry of its
// log, so that it sends a snapshot to whoever joins. It drops entries when it has
// applied so many: every memorySnapshotCount from 3.6 on, and before
// DefaultSnapshotCount (both in etcdserver). The log of a restored seed begins with a
// snapshot.
func (v *view) isCompacted() bool {
	if v.Cluster.Fence.Adopted.Restore != "" || v.Cluster.Recovery != nil {
		return true
	}
	if etcdversion.Parse(v.Cluster.Version).AtLeast(etcdversion.Version{Major: 3, Minor: 6}) {
		return v.applied > 100
	}
	return v.applied > 100_000
}

// canShrink reports whether nothing is under way that is brought to its end first.
func (v *view) canShrink(victim *Member) bool {
	return v.Cluster.Target == "" && !v.isRestarting() && !slices.ContainsFunc(v.voters, func(m Member) bool {
		p := v.pods[m.Name]
		return p != nil && p.Role == Defragmenting && (m.ID != victim.ID || v.isDefragmenting(p))
	})
}

// shrink removes one member more than size asks for: its clients first, then its
// leadership, then its vote.
func shrink(v *view) *step {
	victim := v.victim()
	if victim == nil || !v.canShrink(victim) || v.removalBlocker(victim) != "" {
		return nil // a change of the version is brought to its end first
	}
	reason := v1beta2.ClusterReasonScalingDown
	if v.whyMove(victim) != "" {
		reason = v.moveReason(victim)
	}
	if !v.canRemove(*victim) {
		return wait(shortly, reason, fmt.Sprintf("waiting to remove member %s until the others keep quorum: %s", victim.Name, v.whoIsMissing()))
	}
	if v.healthy[victim.ID] && v.isOtherUnhealthy(victim) {
		return wait(shortly, reason, fmt.Sprintf("waiting to remove member %s until all others are healthy: %s", victim.Name, v.whoIsMissing()))
	}
	if s := v.drain(victim, Leaving, reason, "its removal"); s != nil {
		return s
	}
	if v.whyMove(victim) != "" {
		if s := v.awaitUnrouted(victim, reason, "its removal"); s != nil {
			return s
		}
		said, message := v.replacedBy(victim)
		return do(v.remove(*victim), said, message)
	}
	return do(v.remove(*victim), v1beta2.ClusterReasonMemberRemoved, fmt.Sprintf("removed member %s, one of %d voters: %d wanted", victim.Name, len(v.voters), v.Cluster.Size))
}

// isOtherUnhealthy reports whether a voter with a Pod of the operator's is not healthy, beside
// the one that is about to leave (S6). It would be the one to leave, were it the operator's
// to remove.
func (v *view) isOtherUnhealthy(victim *Member) bool {
	return slices.ContainsFunc(v.voters, func(m Member) bool { return m.ID != victim.ID && !m.Foreign && !v.healthy[m.ID] })
}

// victim is the voter to remove when there are too many: the one that is already leaving,
// else one that is not healthy, else one that is to be replaced, else a follower, the
// leader last (S6, S8). Among equals it is one on the node with the most members, then
// the youngest. It is none that is not the operator's to remove.
func (v *view) victim() *Member {
	if len(v.voters) <= v.Cluster.Size || v.Cluster.Size < 1 {
		return nil
	}
	onNode := map[string]int{}
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil {
			onNode[p.Node]++
		}
	}
	cost := func(m Member) [5]int64 {
		p := v.pods[m.Name]
		if p == nil {
			return [5]int64{}
		}
		return [5]int64{
			boolInt(v.healthy[m.ID]),
			boolInt(v.whyMove(&m) == ""),
			boolInt(p.Role != Leaving) + boolInt(m.ID == v.leader),
			-int64(onNode[p.Node]),
			-p.Created.Unix(),
		}
	}
	var victim *Member
	for _, m := range v.voters {
		if m.isUnmanaged() {
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

// transferee is a healthy voter to take over the lead from the one that leaves: the one that
// has been ready the longest. Most clients are with it, when others have been restarted
// since; and the writes of its own clients wait while it takes over, where those that come
// to the old leader are dropped, and those to the others too, without a word (raft).
func (v *view) transferee(from Member) *Member {
	var transferee *Member
	for i := range v.voters {
		m := &v.voters[i]
		if m.ID == from.ID || !v.healthy[m.ID] {
			continue
		}
		if transferee == nil || v.pods[m.Name].ReadySince.Before(v.pods[transferee.Name].ReadySince) {
			transferee = m
		}
	}
	return transferee
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
