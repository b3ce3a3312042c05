package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file need no quorum: they give members back the Pods that run on
// their volumes, and the room for them. No volume is touched.

// clearFinishedPods deletes the Pod of a member that has ended for good, so that
// it can be recreated on its volume (S7).
func clearFinishedPods(v *view) *step {
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Finished && p.Persistent && p.DeletingSince.IsZero() && v.claims[p.Name] != nil {
			return do(DeletePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonRestartingMember, fmt.Sprintf("deleted the Pod of member %s, which has ended, to recreate it on its volume", p.Name)).explains(v1beta2.ConditionRecovering)
		}
	}
	return nil
}

// returnPods recreates the missing Pods of volumes, all of them at once: members
// that were running a moment ago heal the cluster together. Their launchers start
// etcd only where there is data. A volume that is known to be no member's is left
// to deleteLeftoverClaims.
func returnPods(v *view) *step {
	if v.unplacedPod() != nil {
		return nil // see latchAdopted
	}
	voters := v.knownVoters()
	crowded := !v.hasQuorum() && slices.ContainsFunc(voters, func(m Member) bool { return v.unplaced(m) })
	var pods []NewPod
	for i := range v.Claims {
		c := &v.Claims[i]
		if !v.lacksPod(c) {
			continue
		}
		// Where a voter finds no place, none is taken up by who may have no data.
		if crowded && !slices.ContainsFunc(voters, func(m Member) bool { return m.Name == c.Name }) {
			continue
		}
		p := NewPod{Name: c.Name, Role: Returning, Version: v.newPodVersion(c.Name)}
		if v.isHeldBack(RejectedPod(p, false)) {
			continue // the others heal what they can
		}
		pods = append(pods, p)
	}
	if len(pods) == 0 {
		return nil
	}
	s := do(CreatePods{pods}, v1beta2.ClusterReasonRestartingMember, fmt.Sprintf("recreated the Pods of %s on their volumes", names(pods)))
	if v.Cluster.wasUpdating() {
		s.reason = v1beta2.ClusterReasonUpdatingMembers
		return s
	}
	return s.explains(v1beta2.ConditionRecovering)
}

// lacksPod reports whether a volume that may be a member's is to get its Pod.
func (v *view) lacksPod(c *Claim) bool {
	if v.pods[c.Name] != nil || c.Deleting || v.isOld(c.Name) || v.Cluster.isStrayClaim(c) || c.Name == v.unusedName() {
		return false
	}
	return !v.sure || v.canHaveData(c.Name)
}

// unplacedPod is the Pod for which the others on adopted volumes stay away while nobody tells who
// is a member: the oldest of those that can't be scheduled, while it has its turn; nil if there
// is none. Whoever had no data has given way to it. Recreated at once, it would be back in that
// place before the Pod that has the data, again and again: that its volume is empty is known
// only while it runs. By the turns of a single Pod there are as many minutes in which all
// volumes get their Pods, however many never find a place.
func (v *view) unplacedPod() *Pod {
	if !v.Cluster.isAdopting() || len(v.list) > 0 {
		return nil
	}
	var oldest *Pod
	for i := range v.Pods {
		p := &v.Pods[i]
		if waits := p.Node == "" && p.Unschedulable != ""; waits && (oldest == nil || p.Created.Before(oldest.Created)) {
			oldest = p
		}
	}
	if oldest == nil || !v.hasTurn(oldest) {
		return nil
	}
	return oldest
}

// deferredPodsText says which Pods are not recreated while another one is to find a place, and
// until when, as it continues a sentence; empty if there are none.
func (v *view) deferredPodsText() string {
	p := v.unplacedPod()
	if p == nil {
		return ""
	}
	until := p.Created.Add((v.Now.Sub(p.Created)/oldPodAge + 1) * oldPodAge)
	var said string
	for i := range v.Claims {
		if c := &v.Claims[i]; v.lacksPod(c) {
			said += fmt.Sprintf("; %s: its Pod is recreated once Pod %s is scheduled, or at %s", c.Name, p.Name, until.UTC().Format(time.RFC3339))
		}
	}
	return said
}

// makeRoom deletes a Pod that has no data where a voter's can't be scheduled and no
// quorum answers: the first may be what takes the second's place, and without the
// second there is never a quorum again. Volumes stay.
func makeRoom(v *view) *step {
	// Of adopted volumes nobody knows yet which are voters'.
	lost := v.Cluster.ClusterID != 0 && v.quorumLost() != ""
	if v.hasQuorum() || lost {
		return nil
	}
	for _, m := range v.knownVoters() {
		if p := v.pods[m.Name]; p != nil && v.hasTurn(p) {
			if s := v.yield(p); s != nil {
				return s
			}
		}
	}
	return nil
}

// unplaced reports whether a member's Pod can't be scheduled, and others give way to it.
func (v *view) unplaced(m Member) bool {
	p := v.pods[m.Name]
	return p != nil && p.Node == "" && p.Unschedulable != "" && v.hasTurn(p)
}

// hasTurn reports whether others give way to a Pod that can't be scheduled: for some
// minutes, and then not for as many, again and again. Its volume may be where it never
// finds a place, and those that gave way may be voters that were not reported yet.
func (v *view) hasTurn(p *Pod) bool { return v.Now.Sub(p.Created)/oldPodAge%2 == 0 }

// yield deletes a Pod, if there is one on a node that has no data or, in the last
// resort, has no vote and keeps its data on its volume, in favour of a Pod that
// can't be scheduled.
func (v *view) yield(p *Pod) *step {
	if p.Unschedulable == "" || v.pvcMissing(p) || p.Node != "" || !p.DeletingSince.IsZero() {
		return nil
	}
	empty := func(j *Pod) bool { return v.isCandidate(j) || (j.Answer.Waiting && v.onVolume(j)) }
	voteless := func(j *Pod) bool {
		mayVote := j.Role == Voter || (j.Answer.Reached && !j.Answer.Learner) || j.Answer.Refused != ""
		return !mayVote && v.onVolume(j) && !slices.ContainsFunc(v.knownVoters(), func(m Member) bool { return m.Name == j.Name })
	}
	for _, givesWay := range []func(*Pod) bool{empty, voteless} {
		for i := range v.Pods {
			if j := &v.Pods[i]; j.Node != "" && j.Name != p.Name && j.DeletingSince.IsZero() && givesWay(j) {
				return do(DeletePod{Name: j.Name, UID: j.UID}, v1beta2.ClusterReasonMakingRoom, fmt.Sprintf("deleted Pod %s to make room for unschedulable voter %s", j.Name, p.Name))
			}
		}
	}
	return nil
}

// onVolume reports whether a Pod can be recreated as it is.
func (v *view) onVolume(p *Pod) bool {
	c := v.claims[p.Name]
	return p.Persistent && c != nil && !c.Deleting
}

// canHaveData reports whether the name is that of a member which has had data. We
// make no voter that has not.
func (v *view) canHaveData(name string) bool {
	for _, m := range v.list {
		if m.Name == name {
			return m.Started || !m.Learner
		}
	}
	return false
}
