package membership

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// isDefragmentingAny reports whether some member is.
func isDefragmentingAny(v *facts.View) bool {
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && v.IsDefragmenting(p) {
			return true
		}
	}
	return false
}

// JoinTogether is for how long after its creation the others wait for a Pod, so
// that all are added before the first of them starts.
const JoinTogether = 5 * time.Second

// joinersWanted is how many Pods there are to be of members to come: as many as are
// missing, and one more while one is stranded. That one stays meanwhile: it keeps the
// place on its node from the next one, and may run after all.
func joinersWanted(v *facts.View) int {
	n := v.Missing()
	if n > 0 && slices.ContainsFunc(v.Candidates(), v.IsStranded) {
		n++
	}
	return n
}

// strandedForLong is the oldest Pod that is to join, if all that there may be are stranded:
// it gives way to another one; nil if not.
func strandedForLong(v *facts.View) *facts.Pod {
	var oldest *facts.Pod
	joiners := v.Candidates()
	for _, p := range joiners {
		if !v.IsStranded(p) {
			return nil
		}
		if oldest == nil || p.Created.Before(oldest.Created) {
			oldest = p
		}
	}
	if v.Missing() <= 0 || len(joiners) <= v.Missing() {
		return nil
	}
	return oldest
}

// ClearEndedJoiners deletes the Pods of joiners that have ended for good, such as those
// that were evicted, before others are created.
func ClearEndedJoiners(v *facts.View) *step.Step {
	if !v.Settled {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if !p.Finished || p.Role != facts.Joiner || v.IsMember(p.Name) || !p.DeletingSince.IsZero() || v.IsKept(p) {
			continue
		}
		if s := step.Try(v, step.Do(action.DeletePod{Name: p.Name, UID: p.UID, Members: v.List}, v1beta2.ClusterReasonDeletingPod, fmt.Sprintf("deleted Pod %s, which ended before it could join", p.Name)).Unannounced()); s != nil {
			return s
		}
	}
	return nil
}

// CreateJoiners makes the Pods of members to come. They are scheduled, addressed
// and waiting before anything is done to the member list.
func CreateJoiners(v *facts.View) *step.Step {
	if growthWaits(v) || v.OutgrownPods() > 0 {
		return nil
	}
	// Whatever lowers the limit of one Pod might lower that of each: they are not recreated
	// over and over.
	pods := step.NewJoiners(v, joinersWanted(v)-len(v.Candidates())-len(v.LowLimits()))
	if len(pods) == 0 {
		return nil
	}
	return step.Do(action.CreatePods{Pods: pods}, v1beta2.ClusterReasonCreatingMembers, step.Created(pods)).Unannounced().Needs((*facts.Rejection).LacksService)
}

// growthWaits reports whether a member is being restarted or defragmented and none is
// lost: nobody is added meanwhile.
func growthWaits(v *facts.View) bool {
	return (v.IsRestarting() || isDefragmentingAny(v)) && !slices.ContainsFunc(v.List, v.IsTerminatingOrLost)
}

// Promote promotes one learner that has caught up (S5). It waits while the status cannot be written: if no
// member answers, the status is the only record of the voters.
func Promote(v *facts.View) *step.Step {
	if len(v.Voters) >= v.Cluster.Size+v.Surplus() {
		return nil
	}
	if len(v.Voters) >= v.Cluster.Size && len(v.Healthy) < len(v.Voters) {
		return nil // see AwaitMembers
	}
	for _, m := range v.List {
		if v.CanPromote(m) && !v.IsTerminatingOrLost(m) && !m.Foreign {
			return step.Do(action.Promote{ID: m.ID, Name: m.Name, Members: v.List}, v1beta2.ClusterReasonMemberPromoted, fmt.Sprintf("promoted learner %s, which has caught up, to voter %d of %d",
				m.Name, len(v.Voters)+1, v.Cluster.Size)).Needs(func(r *facts.Rejection) bool { return r.LacksBudget() || r.IsOfStatus() })
		}
	}
	return nil
}

// AddLearner adds the members whose Pods wait, one after the other. Those that are
// about to wait too are waited for, so that all start together; none is added
// while one starts, which would find another list than the one it was told.
func AddLearner(v *facts.View) *step.Step {
	joiner := nextLearner(v)
	switch {
	case joiner == nil:
		return nil
	case !v.Settled:
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonAddingMember, "waiting for the last membership change to settle")
	case othersAreAboutToJoin(v, joiner):
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonAddingMember, joinersProgress(v))
	case replaysOldLog(v, joiner):
		return step.Do(action.AdvanceLog{Entries: memorySnapshotCount + 1 - int(v.Applied)}, v1beta2.ClusterReasonAddingMember, fmt.Sprintf(
			"started appending empty raft entries before member %s joins: it then gets a snapshot, and does not replay log entries from before etcd 3.6", joiner.Name)).Unannounced()
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
		return nil // see AwaitMove
	}
	return joiners[0]
}

// othersAreAboutToJoin reports whether Pods are expected to wait within moments, so that they
// are added together with one that waits already.
func othersAreAboutToJoin(v *facts.View, joiner *facts.Pod) bool {
	return learnerLimit(v, joiner) > 1 && slices.ContainsFunc(v.Candidates(), func(p *facts.Pod) bool {
		return !p.CanJoin() && p.Node != "" && p.Trouble == "" && p.NodeLostSince.IsZero() && v.Now.Sub(p.Created) < JoinTogether
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

// memorySnapshotCount is after how many log entries an etcd from 3.6 on drops the first entry of
// its log, so that it sends a snapshot to whoever joins (etcdserver.memorySnapshotCount).
const memorySnapshotCount = 100

// replaysOldLog reports whether a member that joins might get the log from its beginning, with what
// was written before 3.6. etcd notes an addition in its log also if it then refuses it as one
// learner too many, and 3.5 refuses the second: a member with a higher limit would not, and would
// have another list for good (S3).
func replaysOldLog(v *facts.View, joiner *facts.Pod) bool {
	c, of36 := &v.Cluster, etcdversion.Version{Major: 3, Minor: 6}
	if v.Applied > memorySnapshotCount || beginsWithSnapshot(v) || !etcdversion.Parse(joiner.Version).AtLeast(of36) {
		return false
	}
	return c.VersionIndex > 0 || !etcdversion.Parse(c.Version).AtLeast(of36)
}

// beginsWithSnapshot reports whether the log of the cluster does, as that of a restored seed.
func beginsWithSnapshot(v *facts.View) bool {
	return v.Cluster.Fence.Adopted.Restore != "" || v.Cluster.Recovery != nil
}

// GrantStartPermit grants a start permit to a member that is in the list, has never started, and whose launcher
// waits (S2). The member starts after the members that got a permit before it. An etcd that joins first asks
// every other member. A member that is also just starting accepts the connection and answers only after 7 s
// (etcd's request timeout). Every Pod that can be added is added first, so that the list does not change in
// between.
//
// If a user changes the list, the permit is granted again, because launcher and etcd refuse the old one. The
// new permit keeps the attempt, so only one of the two can be used.
func GrantStartPermit(v *facts.View) *step.Step {
	if !v.Settled || nextLearner(v) != nil {
		return nil
	}
	permit := joinPermit(v)
	for _, m := range v.List {
		if p := v.PodOf[m.Name]; !m.Started && p != nil && hasPermit(p, &permit) {
			permit.After = append(permit.After, m.Name)
		}
	}
	slices.Sort(permit.After)
	for _, m := range v.List {
		p := v.PodOf[m.Name]
		if m.Started || p == nil || !p.CanJoin() || hasPermit(p, &permit) || v.FewerLearners(p) {
			continue
		}
		permit.Attempt = p.Answer.Attempt + 1
		if p.CanUsePermit() {
			permit.Attempt = p.StartPermit.Attempt
		}
		s := step.Do(action.GrantStartPermit{Name: p.Name, UID: p.UID, StartPermit: permit}, v1beta2.ClusterReasonStartingMember, fmt.Sprintf("granted member %s its start permit", p.Name))
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// joinPermit returns the permit to join the members in the list. It does not set the attempt.
func joinPermit(v *facts.View) facts.StartPermit {
	permit := facts.StartPermit{CatchUp: isCompacted(v)}
	for _, m := range v.List {
		permit.Members = append(permit.Members, m.Name)
		if m.At != "" && m.At != fmt.Sprintf(v.Cluster.PeerURLFormat, m.Name) {
			permit.Elsewhere = append(permit.Elsewhere, facts.PeerURLs{Name: m.Name, At: m.At})
		}
	}
	slices.Sort(permit.Members)
	slices.SortFunc(permit.Elsewhere, func(a, b facts.PeerURLs) int { return cmp.Compare(a.Name, b.Name) })
	return permit
}

// hasPermit reports whether the Pod has a start permit that its launcher can still use. If the launcher waits,
// the permit must also name the same members as current.
func hasPermit(p *facts.Pod, current *facts.StartPermit) bool {
	if !p.CanUsePermit() || !p.Answer.Waiting {
		return p.CanUsePermit()
	}
	g := p.StartPermit
	return g.New == current.New && slices.Equal(g.Members, current.Members) && slices.Equal(g.Elsewhere, current.Elsewhere)
}

// isCompacted reports whether the leader has most likely dropped the first entry of its
// log, so that it sends a snapshot to whoever joins. It drops entries when it has
// applied so many: every memorySnapshotCount from 3.6 on, and before
// DefaultSnapshotCount (both in etcdserver).
func isCompacted(v *facts.View) bool {
	if beginsWithSnapshot(v) {
		return true
	}
	if etcdversion.Parse(v.Cluster.Version).AtLeast(etcdversion.Version{Major: 3, Minor: 6}) {
		return v.Applied > memorySnapshotCount
	}
	return v.Applied > 100_000
}

// AwaitAccepted waits for Pods of joiners that the API server refuses: nothing is done to
// members while some are missing (S6). Those that are to take the place of a member that
// serves are waited for in AwaitMove.
func AwaitAccepted(v *facts.View) *step.Step {
	if v.Missing() <= len(v.Candidates()) || v.IsOnlyReplacing() {
		return nil
	}
	r := v.JoinersHeldBack()
	if r == nil {
		return nil
	}
	return step.Wait(joinersPollInterval(v), r.Reason(), v.RejectionsText()).As(action.Rejected).Explains(v1beta2.ConditionDegraded)
}

// canAnyJoin reports whether a replacement waits.
func canAnyJoin(v *facts.View) bool {
	joiners := v.Candidates()
	return len(joiners) > 0 && joiners[0].CanJoin()
}

// joinersPollInterval is how soon to look again at Pods that are to join.
func joinersPollInterval(v *facts.View) time.Duration {
	for _, p := range v.Candidates() {
		if step.PollInterval(v, p) == step.FastPoll {
			return step.FastPoll
		}
	}
	for _, p := range v.LowLimits() {
		if left := p.Created.Add(facts.LowLimitAge).Sub(v.Now); len(v.Candidates()) == 0 && left > 0 {
			return left
		}
	}
	if len(v.Candidates()) == 0 && v.Learners() == 0 && v.JoinersHeldBack() != nil {
		return step.Idle
	}
	return step.Shortly
}

// joinersProgress says what the next Pod to join waits for.
func joinersProgress(v *facts.View) string {
	for _, p := range v.Candidates() {
		if !p.CanJoin() {
			return fmt.Sprintf("waiting for Pod %s: %s", p.Name, v.Progress(p))
		}
	}
	for _, p := range v.Candidates() {
		return fmt.Sprintf("waiting for etcd to accept another member: Pod %s is ready to join", p.Name)
	}
	for _, p := range v.LowLimits() {
		return facts.LowLimitText(p)
	}
	if v.Missing() > 0 && v.JoinersHeldBack() != nil {
		return v.RejectionsText()
	}
	return "waiting for a replacement Pod"
}
