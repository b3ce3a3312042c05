package recovery

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file begin a cluster anew whose majority is lost for good, with the
// data of the most advanced survivor, if its user has said so. They keep S13: two clusters
// never both take writes, and the survivors' data outlives the doubt.
//
//   - The choice is latched in the status before anything is done (ChooseSurvivor).
//   - The survivors lose their clients before the seed exists, so that none of them can
//     take a write that the seed lacks, even if the lost members came back
//     (MarkSurvivors).
//   - The seed is a Pod of another name, with a cluster id of its own. Nobody is sent to
//     it before one write of the status puts it in the old cluster's place
//     (AdoptSurvivor). Until then the old cluster is the truth: whatever casts a doubt on
//     its loss aborts the recovery (AbortRecovery).
//   - What the survivors hold is kept until the new cluster has size healthy voters.

const (
	// MinBump is by how much the revision is raised at least, so that nobody who watched
	// sees time run backwards: five hours of 50,000 writes a second, for as long as the
	// operator may have been away.
	MinBump = int64(1_000_000_000)
	// MaxRevision is the highest revision that a cluster begins at.
	MaxRevision = int64(math.MaxInt64 / 2)
)

// AbortRecovery gives a recovery up whose seed was not adopted. That is latched first:
// the seed is a stray one then, and whether it was given up need not be told by what is
// left of it. The choice is made anew, if there still is one.
func AbortRecovery(v *facts.View) *step.Step {
	if !v.Cluster.IsReseeding() {
		return nil
	}
	why := abortReason(v)
	if why == "" {
		return nil
	}
	r := v.Cluster.Recovery
	return step.Do(action.EndRecovery{Token: r.Token}, v1beta2.ClusterReasonRecoveryAborted, "recovery from survivor "+r.Survivor+" aborted: "+why)
}

// abortReason says why a recovery is not brought to its end; empty if it is.
func abortReason(v *facts.View) string {
	r := v.Cluster.Recovery
	switch {
	case v.Sure:
		return "the old cluster serves again"
	case r.ClusterID != v.Cluster.ClusterID:
		return fmt.Sprintf("it belongs to cluster %016x", r.ClusterID)
	case v.QuorumLost() == "":
		return "the data of a majority may be available again"
	case !isRecoveryRequested(v):
		return "the spec no longer asks for it"
	}
	found := findHolders(v)
	for _, p := range found.asked {
		switch {
		case !slices.Contains(r.Survivors, p.Name):
			return fmt.Sprintf("member %s has come back", p.Name)
		case p.Answer.Committed > r.Committed:
			return fmt.Sprintf("member %s knows of more entries than the survivor did", p.Name)
		}
	}
	for _, d := range found.doubts {
		if !slices.Contains(r.Survivors, d.name) {
			return d.why
		}
	}
	return seedGivenUp(v)
}

// seedGivenUp says why the seed will not serve; empty if it may.
func seedGivenUp(v *facts.View) string {
	r := v.Cluster.Recovery
	seed, c, from := v.PodOf[r.Seed], v.ClaimOf[r.Seed], v.PodOf[r.Survivor]
	gone := from == nil || from.UID != r.SurvivorUID || from.Finished
	switch {
	case c != nil && c.Deleting:
		return "the volume of its seed is being deleted"
	case seed == nil && gone:
		return "the survivor's Pod is gone"
	case seed == nil:
		return ""
	case !seed.DeletingSince.IsZero():
		return "its seed is being deleted"
	case seed.Reseed != r.Token:
		return fmt.Sprintf("Pod %s is not its seed", seed.Name)
	case seed.Finished:
		return "its seed has ended"
	case v.NodeLost(seed):
		return "its seed's node is gone"
	case seed.Answer.Waiting:
		return "its seed has no data"
	case seed.Persistent && c == nil:
		return "its seed has no volume"
	case seed.Answer.Reached:
		return ""
	case gone:
		return "the survivor's Pod is gone before its snapshot was taken"
	case seed.Trouble != "" && v.Now.Sub(seed.ExistsSince()) > facts.OldPodAge:
		return "its seed does not run: " + seed.Trouble
	case seed.Node == "" && seed.Unschedulable != "" && v.IsExpired(seed.ExistsSince()):
		return "its seed is unschedulable: " + seed.Unschedulable + roomAdvice(v, seed)
	}
	return ""
}

// DropStraySeeds deletes seeds of recoveries that were aborted: Pods, and then their
// claims. While a quorum serves they belong to no member, like others.
func DropStraySeeds(v *facts.View) *step.Step {
	if v.HasQuorum() || v.Cluster.IsReseeding() {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		switch {
		case !isStraySeed(v, p):
		case p.DeletingSince.IsZero():
			return step.Do(action.DropSeed{Name: p.Name, PodUID: p.UID, Token: p.Reseed}, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("deleted seed %s: its recovery was aborted", p.Name))
		case !v.NodeLost(p):
			return step.Wait(step.Shortly, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("waiting for seed %s to stop: its recovery was aborted", p.Name))
		}
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.Cluster.IsStrayClaim(c) && !c.Deleting && v.PodOf[c.Name] == nil {
			return step.Do(action.DropSeed{Name: c.Name, ClaimUID: c.UID, Token: c.Reseed}, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("deleted the PVC of seed %s: its recovery was aborted", c.Name))
		}
	}
	return nil
}

// isStraySeed reports whether a Pod was made as a survivor's seed and never adopted, and
// is not the one that is being made.
func isStraySeed(v *facts.View, p *facts.Pod) bool {
	return p.Role == facts.Seed && v.Cluster.IsStrayToken(p.Reseed) && !v.Ours(&p.Answer)
}

// MarkSurvivors takes the clients from all Pods of the old cluster (S13).
func MarkSurvivors(v *facts.View) *step.Step {
	if !v.Cluster.IsReseeding() {
		return nil
	}
	var roles []action.PodRole
	var names []string
	for i := range v.Pods {
		if p := &v.Pods[i]; isOfOld(v, p) && p.Role != facts.Survivor {
			roles, names = append(roles, action.PodRole{Name: p.Name, UID: p.UID, Role: facts.Survivor}), append(names, p.Name)
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return step.Do(action.SetRoles{Roles: roles}, v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("removed %s from the client Service; their data is kept", strings.Join(names, ", ")))
}

// isOfOld reports whether a Pod may have been a member of the cluster whose majority is
// lost.
func isOfOld(v *facts.View, p *facts.Pod) bool {
	return !neverBegan(v, p) && !isStraySeed(v, p) && (!v.Cluster.IsReseeding() || p.Name != v.Cluster.Recovery.Seed)
}

// neverBegan reports whether a Pod was made to join and has never started etcd.
func neverBegan(v *facts.View, p *facts.Pod) bool {
	return p.Role == facts.Joiner && p.StartPermit == nil && !p.Answer.Reached && p.Answer.Attempt == 0 && !v.IsMember(p.Name)
}

// CreateSurvivorsSeed makes the seed's Pod, on a volume of its own where members have one.
// Recreated under its name it finds what it made, or begins anew: nobody has written to
// it.
func CreateSurvivorsSeed(v *facts.View) *step.Step {
	if !v.Cluster.IsReseeding() {
		return nil
	}
	r := v.Cluster.Recovery
	seed := v.PodOf[r.Seed]
	switch {
	case seed == nil:
		return step.Do(action.CreatePods{Pods: []action.NewPod{{Name: r.Seed, Role: facts.Seed, Version: r.Version, Recovery: r}}}, v1beta2.ClusterReasonRecoveringFromSurvivor,
			fmt.Sprintf("created the Pod of seed %s, to be built from a snapshot of survivor %s", r.Seed, r.Survivor)).Needs(func(r *facts.Rejection) bool { return r.IsOfService() && r.Name == v.Cluster.Name+"-client" })
	case seed.Node != "" || seed.Unschedulable == "":
		return nil
	}
	for i := range v.Pods {
		j := &v.Pods[i]
		// The Pod of a volume stays: without it nobody could tell that the volume is empty.
		givesWay := v.IsUnstarted(j) || (j.IsEmpty() && !j.CanUsePermit() && j.Name != r.Seed)
		if givesWay && !j.Persistent && j.Node != "" && j.DeletingSince.IsZero() {
			return step.Do(action.DeletePod{Name: j.Name, UID: j.UID}, v1beta2.ClusterReasonMakingRoom, fmt.Sprintf("deleted Pod %s to make room for unschedulable seed %s", j.Name, r.Seed))
		}
	}
	return nil
}

// roomAdvice says what a person can do where a survivor's seed finds no place: the operator
// deletes no volume while a majority is lost, and no Pod that tells that one is empty. A new
// member's comes first: it never had data. Empty if the seed has a place.
func roomAdvice(v *facts.View, seed *facts.Pod) string {
	if seed.Node != "" || seed.Unschedulable == "" {
		return ""
	}
	var unused, emptied *facts.Pod
	for i := range v.Pods {
		switch p := &v.Pods[i]; {
		case p.Node == "" || !p.DeletingSince.IsZero() || !v.OnVolume(p) || p == seed:
		case neverBegan(v, p):
			unused = p
		case p.IsEmpty() && !p.CanUsePermit():
			emptied = p
		}
	}
	switch {
	case unused != nil:
		v.DeleteEmpty = unused.Name
		return fmt.Sprintf("; add a node, or delete Pod %s and its PVC, which never held data", unused.Name)
	case emptied != nil:
		v.DeleteEmpty = emptied.Name
		return fmt.Sprintf("; add a node, or delete Pod %s and its PVC, which is empty, if that member's data cannot be brought back", emptied.Name)
	}
	return "; add a node, or make room on one"
}

// AdoptSurvivor puts the seed in the old cluster's place once it serves alone, and its
// permit to write its data dir is revoked.
func AdoptSurvivor(v *facts.View) *step.Step {
	if !v.Cluster.IsReseeding() {
		return nil
	}
	r := v.Cluster.Recovery
	seed := v.PodOf[r.Seed]
	a := &seed.Answer
	alone := a.Read && !a.Learner && len(a.Members) == 1 && a.Members[0].ID == a.MemberID && a.Members[0].Name == seed.Name && !a.Members[0].Learner
	if !alone || a.MemberID == 0 || a.ClusterID == 0 || a.ClusterID == v.Cluster.ClusterID {
		return step.Wait(step.PollInterval(v, seed), v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("waiting for seed %s, built from a snapshot of survivor %s: %s", seed.Name, r.Survivor, v.Progress(seed))+roomAdvice(v, seed)).Explains(v1beta2.ConditionDegraded)
	}
	if seed.SurvivorPermit {
		return step.Do(action.RevokeSurvivorPermit{Name: seed.Name, UID: seed.UID}, v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("revoked the permit of seed %s to write its data dir: it serves", seed.Name))
	}
	if name := led(v); name != "" {
		return step.Wait(step.FastPoll, v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("waiting to see whether the old cluster serves again: %s has a leader", name))
	}
	return step.Do(action.AdoptSurvivor{Name: seed.Name, UID: seed.UID, ClusterID: a.ClusterID, Token: r.Token}, v1beta2.ClusterReasonSurvivorAdopted, fmt.Sprintf(
		"cluster %016x replaces %016x: it has all that survivor %s knew to be committed, up to revision %d (index %d), and continues at revision %d; writes that only lost members had acknowledged, beyond revision %d, are lost (no member had reported revision %d or later)",
		a.ClusterID, r.ClusterID, r.Survivor, r.Revision, r.Committed, r.BeginsAt, r.Revision, v.Cluster.LastStatus.HighestRevision))
}

// led names a member of the old cluster that has a leader; empty if none has.
func led(v *facts.View) string {
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; v.Ours(a) && a.Leader != 0 {
			return v.Pods[i].Name
		}
	}
	return ""
}

// MakeRoomForJoiner deletes the Pod of an old member that is in the way of one that is to join:
// its data stays on its volume.
func MakeRoomForJoiner(v *facts.View) *step.Step {
	if !v.Settled || !slices.ContainsFunc(v.Candidates(), func(p *facts.Pod) bool { return p.Node == "" && p.Unschedulable != "" }) {
		return nil
	}
	for i := range v.Pods {
		if p := &v.Pods[i]; v.IsKept(p) && p.Node != "" && p.DeletingSince.IsZero() && v.OnVolume(p) {
			s := step.Do(action.DeletePod{Name: p.Name, UID: p.UID, Members: v.List}, v1beta2.ClusterReasonMakingRoom,
				fmt.Sprintf("deleted Pod %s of the old cluster to make room for a new member; its volume is kept", p.Name))
			if s = step.Try(v, s); s != nil {
				return s
			}
		}
	}
	return nil
}

// CompleteRecovery ends a recovery when nothing is left of the old cluster.
func CompleteRecovery(v *facts.View) *step.Step {
	if !v.Cluster.IsRegrowing() || !v.HasRegrown() ||
		slices.ContainsFunc(v.Pods, func(p facts.Pod) bool { return v.IsOld(p.Name) }) || slices.ContainsFunc(v.Claims, func(c facts.Claim) bool { return v.IsOld(c.Name) }) {
		return nil
	}
	r := v.Cluster.Recovery
	return step.Do(action.EndRecovery{Token: r.Token, Complete: true}, v1beta2.ClusterReasonRecoveryComplete, fmt.Sprintf("recovery complete: %d voters are healthy in the cluster rebuilt from %s", len(v.Voters), r.Survivor))
}
