package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file begin a cluster anew whose majority is lost for good, with the
// data of the most advanced survivor, if its user has said so. They keep S13: two clusters
// never both take writes, and the survivors' data outlives the doubt.
//
//   - The choice is latched in the status before anything is done (chooseSurvivor).
//   - The survivors lose their clients before the seed exists, so that none of them can
//     take a write that the seed lacks, even if the lost members came back
//     (markSurvivors).
//   - The seed is a Pod of another name, with a cluster id of its own. Nobody is sent to
//     it before one write of the status puts it in the old cluster's place
//     (adoptSurvivor). Until then the old cluster is the truth: whatever casts a doubt on
//     its loss aborts the recovery (abortRecovery).
//   - What the survivors hold is kept until the new cluster has size healthy voters.

const (
	// minBump is by how much the revision is raised at least, so that nobody who watched
	// sees time run backwards: five hours of 50,000 writes a second, for as long as the
	// operator may have been away.
	minBump = int64(1_000_000_000)
	// maxRevision is the highest revision that a cluster begins at.
	maxRevision = int64(math.MaxInt64 / 2)
)

// isReseeding reports whether a seed is being made of a survivor's snapshot.
func (c *Cluster) isReseeding() bool {
	r := c.Recovery
	return r != nil && r.Phase == v1beta2.RecoverySeeding
}

// isRegrowing reports whether the cluster has begun anew and has not grown to its size
// since.
func (c *Cluster) isRegrowing() bool {
	r := c.Recovery
	return r != nil && r.Phase == v1beta2.RecoveryGrowing
}

// abortRecovery gives a recovery up whose seed was not adopted. That is latched first:
// the seed is a stray one then, and whether it was given up need not be told by what is
// left of it. The choice is made anew, if there still is one.
func abortRecovery(v *view) *step {
	if !v.Cluster.isReseeding() {
		return nil
	}
	why := v.abortReason()
	if why == "" {
		return nil
	}
	r := v.Cluster.Recovery
	return do(EndRecovery{Token: r.Token}, v1beta2.ClusterReasonRecoveryAborted, "recovery from survivor "+r.Survivor+" aborted: "+why)
}

// abortReason says why a recovery is not brought to its end; empty if it is.
func (v *view) abortReason() string {
	r := v.Cluster.Recovery
	switch {
	case v.sure:
		return "the old cluster serves again"
	case r.ClusterID != v.Cluster.ClusterID:
		return fmt.Sprintf("it belongs to cluster %016x", r.ClusterID)
	case v.quorumLost() == "":
		return "the data of a majority may be available again"
	case !v.isRecoveryRequested():
		return "the spec no longer asks for it"
	}
	found := v.findHolders()
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
	return v.seedGivenUp()
}

// seedGivenUp says why the seed will not serve; empty if it may.
func (v *view) seedGivenUp() string {
	r := v.Cluster.Recovery
	seed, c, from := v.pods[r.Seed], v.claims[r.Seed], v.pods[r.Survivor]
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
	case v.nodeLost(seed):
		return "its seed's node is gone"
	case seed.Answer.Waiting:
		return "its seed has no data"
	case seed.Persistent && c == nil:
		return "its seed has no volume"
	case seed.Answer.Reached:
		return ""
	case gone:
		return "the survivor's Pod is gone before its snapshot was taken"
	case seed.Trouble != "" && v.Now.Sub(seed.Created) > oldPodAge:
		return "its seed does not run: " + seed.Trouble
	case seed.Node == "" && seed.Unschedulable != "" && v.isExpired(seed.Created):
		return "its seed is unschedulable: " + seed.Unschedulable + v.roomAdvice(seed)
	}
	return ""
}

// dropStraySeeds deletes seeds of recoveries that were aborted: Pods, and then their
// claims. While a quorum serves they are no member's, like others.
func dropStraySeeds(v *view) *step {
	if v.hasQuorum() || v.Cluster.isReseeding() {
		return nil
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		switch {
		case !v.isStraySeed(p):
		case p.DeletingSince.IsZero():
			return do(DropSeed{Name: p.Name, PodUID: p.UID, Token: p.Reseed}, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("deleted seed %s: its recovery was aborted", p.Name))
		case !v.nodeLost(p):
			return wait(shortly, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("waiting for seed %s to stop: its recovery was aborted", p.Name))
		}
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.Cluster.isStrayClaim(c) && !c.Deleting && v.pods[c.Name] == nil {
			return do(DropSeed{Name: c.Name, ClaimUID: c.UID, Token: c.Reseed}, v1beta2.ClusterReasonSeedDiscarded, fmt.Sprintf("deleted the PVC of seed %s: its recovery was aborted", c.Name))
		}
	}
	return nil
}

// isStraySeed reports whether a Pod was made as a survivor's seed and never adopted, and
// is not the one that is being made.
func (v *view) isStraySeed(p *Pod) bool {
	return p.Role == Seed && v.Cluster.isStrayToken(p.Reseed) && !v.ours(&p.Answer)
}

// isStrayClaim reports the same of a volume.
func (c *Cluster) isStrayClaim(claim *Claim) bool { return c.isStrayToken(claim.Reseed) }

func (c *Cluster) isStrayToken(token string) bool {
	if token == "" || (c.Bootstrap != nil && c.Bootstrap.Token == token) {
		return false
	}
	// Of an earlier recovery that was adopted a member's Pod may still have the token.
	return c.Recovery == nil || c.Recovery.Token != token
}

// markSurvivors takes the clients from all Pods of the old cluster (S13).
func markSurvivors(v *view) *step {
	if !v.Cluster.isReseeding() {
		return nil
	}
	var roles []PodRole
	var names []string
	for i := range v.Pods {
		if p := &v.Pods[i]; v.isOfOld(p) && p.Role != Survivor {
			roles, names = append(roles, PodRole{p.Name, p.UID, Survivor}), append(names, p.Name)
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return do(SetRoles{roles}, v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("removed %s from the client Service; their data is kept", strings.Join(names, ", ")))
}

// isOfOld reports whether a Pod may have been a member of the cluster whose majority is
// lost.
func (v *view) isOfOld(p *Pod) bool {
	return !v.neverBegan(p) && !v.isStraySeed(p) && (!v.Cluster.isReseeding() || p.Name != v.Cluster.Recovery.Seed)
}

// neverBegan reports whether a Pod was made to join and has never started etcd.
func (v *view) neverBegan(p *Pod) bool {
	return p.Role == Joiner && p.StartPermit == nil && !p.Answer.Reached && p.Answer.Attempt == 0 && !v.isMember(p.Name)
}

// createSurvivorsSeed makes the seed's Pod, on a volume of its own where members have one.
// Recreated under its name it finds what it made, or begins anew: nobody has written to
// it.
func createSurvivorsSeed(v *view) *step {
	if !v.Cluster.isReseeding() {
		return nil
	}
	r := v.Cluster.Recovery
	seed := v.pods[r.Seed]
	switch {
	case seed == nil:
		return do(CreatePods{[]NewPod{{Name: r.Seed, Role: Seed, Version: r.Version, Recovery: r}}}, v1beta2.ClusterReasonRecoveringFromSurvivor,
			fmt.Sprintf("created the Pod of seed %s, to be built from a snapshot of survivor %s", r.Seed, r.Survivor))
	case seed.Node != "" || seed.Unschedulable == "":
		return nil
	}
	for i := range v.Pods {
		j := &v.Pods[i]
		// The Pod of a volume stays: without it nobody could tell that the volume is empty.
		givesWay := v.isCandidate(j) || (j.isEmpty() && !j.canUsePermit() && j.Name != r.Seed)
		if givesWay && !j.Persistent && j.Node != "" && j.DeletingSince.IsZero() {
			return do(DeletePod{Name: j.Name, UID: j.UID}, v1beta2.ClusterReasonMakingRoom, fmt.Sprintf("deleted Pod %s to make room for unschedulable seed %s", j.Name, r.Seed))
		}
	}
	return nil
}

// roomAdvice says what a person can do where a survivor's seed finds no place: the operator
// deletes no volume while a majority is lost, and no Pod that tells that one is empty. A new
// member's comes first: it never had data. Empty if the seed has a place.
func (v *view) roomAdvice(seed *Pod) string {
	if seed.Node != "" || seed.Unschedulable == "" {
		return ""
	}
	var unused, emptied *Pod
	for i := range v.Pods {
		switch p := &v.Pods[i]; {
		case p.Node == "" || !p.DeletingSince.IsZero() || !v.onVolume(p) || p == seed:
		case v.neverBegan(p):
			unused = p
		case p.isEmpty() && !p.canUsePermit():
			emptied = p
		}
	}
	switch {
	case unused != nil:
		v.deleteEmpty = unused.Name
		return fmt.Sprintf("; add a node, or delete Pod %s and its PVC, which never held data", unused.Name)
	case emptied != nil:
		v.deleteEmpty = emptied.Name
		return fmt.Sprintf("; add a node, or delete Pod %s and its PVC, which is empty, if that member's data cannot be brought back", emptied.Name)
	}
	return "; add a node, or make room on one"
}

// adoptSurvivor puts the seed in the old cluster's place once it serves alone, and its
// permit to write its data dir is revoked.
func adoptSurvivor(v *view) *step {
	if !v.Cluster.isReseeding() {
		return nil
	}
	r := v.Cluster.Recovery
	seed := v.pods[r.Seed]
	a := &seed.Answer
	alone := a.Read && !a.Learner && len(a.Members) == 1 && a.Members[0].ID == a.MemberID && a.Members[0].Name == seed.Name && !a.Members[0].Learner
	if !alone || a.MemberID == 0 || a.ClusterID == 0 || a.ClusterID == v.Cluster.ClusterID {
		return wait(v.pollInterval(seed), v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("waiting for seed %s, built from a snapshot of survivor %s: %s", seed.Name, r.Survivor, v.progress(seed))+v.roomAdvice(seed)).explains(v1beta2.ConditionDegraded)
	}
	if seed.SurvivorPermit {
		return do(RevokeSurvivorPermit{seed.Name, seed.UID}, v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("revoked the permit of seed %s to write its data dir: it serves", seed.Name))
	}
	if name := v.led(); name != "" {
		return wait(fastPoll, v1beta2.ClusterReasonRecoveringFromSurvivor, fmt.Sprintf("waiting to see whether the old cluster serves again: %s has a leader", name))
	}
	return do(AdoptSurvivor{seed.Name, seed.UID, a.ClusterID, r.Token}, v1beta2.ClusterReasonSurvivorAdopted, fmt.Sprintf(
		"cluster %016x replaces %016x: it has all that survivor %s knew to be committed, up to revision %d (index %d), and continues at revision %d; writes that only lost members had acknowledged, beyond revision %d, are lost (no member had reported revision %d or later)",
		a.ClusterID, r.ClusterID, r.Survivor, r.Revision, r.Committed, r.BeginsAt, r.Revision, v.Cluster.LastStatus.HighestRevision))
}

// led names a member of the old cluster that has a leader; empty if none has.
func (v *view) led() string {
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; v.ours(a) && a.Leader != 0 {
			return v.Pods[i].Name
		}
	}
	return ""
}

// isOld reports whether a name is of a member of the cluster that was lost, while the new
// one has not grown to its size.
func (v *view) isOld(name string) bool {
	return v.Cluster.isRegrowing() && !v.isMember(name) && slices.Contains(v.Cluster.Recovery.Members, name)
}

// isKept reports whether a Pod of an old member might hold data, and is kept: until the new
// cluster has size healthy voters.
func (v *view) isKept(p *Pod) bool {
	empty := p.isEmpty() || v.hasEnded(p) || v.pvcMissing(p)
	return v.isOld(p.Name) && !empty && !v.hasRegrown()
}

// hasRegrown reports whether there are size voters, all of them healthy.
func (v *view) hasRegrown() bool {
	return v.settled && len(v.voters) >= v.Cluster.Size && len(v.list) == len(v.voters) && len(v.healthy) == len(v.voters)
}

// makeRoomForJoiner deletes the Pod of an old member that is in the way of one that is to join:
// its data stays on its volume.
func makeRoomForJoiner(v *view) *step {
	if !v.settled || !slices.ContainsFunc(v.candidates(), func(p *Pod) bool { return p.Node == "" && p.Unschedulable != "" }) {
		return nil
	}
	for i := range v.Pods {
		if p := &v.Pods[i]; v.isKept(p) && p.Node != "" && p.DeletingSince.IsZero() && v.onVolume(p) {
			return do(DeletePod{p.Name, p.UID, v.list}, v1beta2.ClusterReasonMakingRoom, fmt.Sprintf("deleted Pod %s of the old cluster to make room for a new member; its volume is kept", p.Name))
		}
	}
	return nil
}

// completeRecovery ends a recovery when nothing is left of the old cluster.
func completeRecovery(v *view) *step {
	if !v.Cluster.isRegrowing() || !v.hasRegrown() ||
		slices.ContainsFunc(v.Pods, func(p Pod) bool { return v.isOld(p.Name) }) || slices.ContainsFunc(v.Claims, func(c Claim) bool { return v.isOld(c.Name) }) {
		return nil
	}
	r := v.Cluster.Recovery
	return do(EndRecovery{r.Token, true}, v1beta2.ClusterReasonRecoveryComplete, fmt.Sprintf("recovery complete: %d voters are healthy in the cluster rebuilt from %s", len(v.voters), r.Survivor))
}

// recoveryStory says how far a recovery is.
func (v *view) recoveryStory(s *step) string {
	r := v.Cluster.Recovery
	if v.Cluster.isReseeding() {
		return s.message
	}
	story := fmt.Sprintf("the cluster was rebuilt from %s (revision %d) and has %d of %d voters; Pods and PVCs of the old cluster are kept until all new members are healthy",
		r.Survivor, r.Revision, len(v.voters), v.Cluster.Size)
	for i := range v.Pods {
		if p := &v.Pods[i]; v.isKept(p) && !v.onVolume(p) && slices.ContainsFunc(v.candidates(), func(p *Pod) bool { return p.Unschedulable != "" }) {
			story += fmt.Sprintf("; Pod %s of the old cluster may block a new member, and holds its data: add a node, or delete the Pod", p.Name)
		}
	}
	return story
}
