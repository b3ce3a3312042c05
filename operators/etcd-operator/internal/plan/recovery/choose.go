package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// This file chooses with whose data a cluster begins anew whose majority is lost for good:
// the largest committed index decides, then the revision, and never the term, which says
// nothing of the log. There is a choice only while there is no doubt: all that may hold
// data has answered, of the one cluster, and by no member's list is it a majority.

// doubt is something that might hold data, and has not been asked.
type doubt struct{ name, why string }

// holders are the Pods that hold data of the cluster and have said so, and what may hold
// data and has not.
type holders struct {
	asked  []*facts.Pod
	doubts []doubt
}

// StandTime is for how long a majority must have been seen to be lost before anything is
// done about it.
const StandTime = 30 * time.Second

// findHolders goes through all Pods and volumes but those of recoveries' seeds.
func findHolders(v *facts.View) holders {
	var h holders
	for i := range v.Pods {
		p := &v.Pods[i]
		a := &p.Answer
		switch {
		case !isOfOld(v, p), v.HasEnded(p), v.PVCMissing(p), p.IsEmpty():
		case a.Waiting:
			h.doubts = append(h.doubts, doubt{p.Name, fmt.Sprintf("Pod %s might hold data: %s", p.Name, v.WhyEmptinessUncertain(p))})
		case a.Blocked != "":
			h.doubts = append(h.doubts, doubt{p.Name, fmt.Sprintf("Pod %s might hold data: %s", p.Name, a.Blocked)})
		case !p.DeletingSince.IsZero() || p.Finished:
			h.doubts = append(h.doubts, doubt{p.Name, fmt.Sprintf("Pod %s is being deleted or recreated", p.Name)})
		case a.NeedsLogin:
			h.doubts = append(h.doubts, doubt{p.Name, fmt.Sprintf("Pod %s might hold data, and its etcd asks for a login, which needs a quorum", p.Name)})
		case !a.Reached:
			h.doubts = append(h.doubts, doubt{p.Name, fmt.Sprintf("Pod %s might hold data and does not answer (an etcd that was restarted without a quorum does not)", p.Name)})
		case !v.Ours(a):
			h.doubts = append(h.doubts, doubt{p.Name, fmt.Sprintf("Pod %s answers for another cluster, %016x", p.Name, a.ClusterID)})
		default:
			h.asked = append(h.asked, p)
		}
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.PodOf[c.Name] == nil && !v.Cluster.IsStrayClaim(c) && (!v.Cluster.IsReseeding() || c.Name != v.Cluster.Recovery.Seed) {
			h.doubts = append(h.doubts, doubt{c.Name, fmt.Sprintf("PVC %s might hold data, and no Pod runs on it", c.Name)})
		}
	}
	for _, d := range v.Doubtful {
		if v.PodOf[d.Name] == nil {
			h.doubts = append(h.doubts, doubt{d.Name, d.Advice})
		}
	}
	return h
}

// tellsCorrupt reports whether a member tells of the alarm CORRUPT, of itself or of another.
func tellsCorrupt(a *facts.Answer) bool {
	return slices.ContainsFunc(a.Alarms, func(x facts.Alarm) bool { return x.Kind == facts.Corrupt })
}

// choice is the survivor with whose data the cluster may begin anew, or why there is none
// as far as can be told.
func choice(v *facts.View) (chosen *facts.Pod, why string) {
	if v.Cluster.IsRegrowing() {
		r := v.Cluster.Recovery
		return nil, fmt.Sprintf("this cluster was rebuilt from %s and had not reached its size: it cannot be rebuilt a second time", r.Survivor)
	}
	h := findHolders(v)
	if len(h.doubts) > 0 {
		return nil, h.doubts[0].why
	}
	if len(h.asked) == 0 {
		return nil, "no remaining member answers"
	}
	for _, p := range h.asked {
		if why := choiceBlocker(v, p, h.asked); why != "" {
			return nil, why
		}
	}
	chosen = slices.MaxFunc(h.asked, func(a, b *facts.Pod) int {
		x, y := &a.Answer, &b.Answer
		return cmp.Or(cmp.Compare(x.Committed, y.Committed), cmp.Compare(x.Revision, y.Revision), strings.Compare(b.Name, a.Name))
	})
	switch {
	case chosen.Runs() == "" || !etcdversion.Supported(chosen.Runs()):
		return nil, fmt.Sprintf("member %s runs etcd %q, which this operator does not support", chosen.Name, chosen.Runs())
	case max(v.Cluster.LastStatus.HighestRevision, chosen.Answer.Revision) > MaxRevision-MinBump:
		return nil, "no revision is left to begin at"
	}
	return chosen, ""
}

// choiceBlocker says why a survivor's answer leaves no choice; empty if it does.
func choiceBlocker(v *facts.View, p *facts.Pod, asked []*facts.Pod) string {
	a := &p.Answer
	switch {
	case a.Leader != 0 || a.Read:
		return fmt.Sprintf("member %s has a leader", p.Name)
	case tellsCorrupt(a) || v.Cluster.Differs(a.MemberID):
		return fmt.Sprintf("member %s reports alarm CORRUPT", p.Name)
	case a.Applied < a.Committed:
		return fmt.Sprintf("member %s has not applied all that it knows to be committed", p.Name)
	}
	voters, left := 0, 0
	for _, m := range a.Members {
		if m.Learner {
			continue
		}
		voters++
		if slices.ContainsFunc(asked, func(q *facts.Pod) bool { return q.Answer.MemberID == m.ID }) {
			left++
		}
	}
	if voters > 0 && left >= quorum.Majority(voters) {
		return fmt.Sprintf("according to member %s, %d of %d voters are left and may serve again", p.Name, left, voters)
	}
	return ""
}

// isRecoveryRequested reports whether the user wants the cluster to begin anew.
func isRecoveryRequested(v *facts.View) bool {
	c := &v.Cluster
	return c.ClusterID != 0 && (c.Survive || c.Recover == fmt.Sprintf("%016x", c.ClusterID))
}

// standing is how long the loss has still to stand, and what was begun before it to land,
// before anything is done about it.
func standing(v *facts.View) time.Duration {
	if v.Cluster.QuorumLostSince.IsZero() {
		return StandTime
	}
	return max(0, StandTime-v.Now.Sub(v.Cluster.QuorumLostSince), facts.Landing-v.Now.Sub(v.Since))
}

// ChooseSurvivor latches the choice.
func ChooseSurvivor(v *facts.View) *step.Step {
	if v.HasQuorum() || v.QuorumLost() == "" || !isRecoveryRequested(v) || standing(v) > 0 || len(v.FreshNames) == 0 || v.FreshToken == "" {
		return nil
	}
	chosen, why := choice(v)
	if why != "" {
		return nil // see AwaitQuorum
	}
	a := &chosen.Answer
	r := facts.Recovery{
		Phase: v1beta2.RecoverySeeding, ClusterID: v.Cluster.ClusterID,
		Survivor: chosen.Name, SurvivorUID: chosen.UID, MemberID: a.MemberID, Committed: a.Committed, Revision: a.Revision,
		BeginsAt: max(v.Cluster.LastStatus.HighestRevision, a.Revision) + MinBump,
		Seed:     v.FreshNames[0], Token: v.FreshToken, Version: chosen.Runs(),
	}
	for _, p := range findHolders(v).asked {
		r.Survivors = append(r.Survivors, p.Name)
	}
	r.Members = oldNames(v)
	return step.Do(action.RecordSurvivor{Recovery: r}, v1beta2.ClusterReasonSurvivorChosen, fmt.Sprintf(
		"chose survivor %s to rebuild the cluster from: revision %d, committed index %d, the highest of %s; %s", r.Survivor, r.Revision, r.Committed, strings.Join(r.Survivors, ", "), v.QuorumLost()))
}

// oldNames are all names of members, and of what may be one's.
func oldNames(v *facts.View) []string {
	var names []string
	for _, m := range append(v.KnownVoters(), v.List...) {
		names = append(names, m.Name)
	}
	for i := range v.Pods {
		if p := &v.Pods[i]; isOfOld(v, p) {
			names = append(names, p.Name)
		}
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if p := v.PodOf[c.Name]; !v.Cluster.IsStrayClaim(c) && (p == nil || isOfOld(v, p)) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
