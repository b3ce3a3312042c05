package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file need no quorum, since they only give members back the
// Pods that run on their volumes.

// clearFinishedPods deletes the Pod of a member that has ended for good, so that
// it can be made again on its volume (S7).
func clearFinishedPods(v *view) *step {
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Finished && p.Persistent && p.DeletingSince.IsZero() && v.claims[p.Name] != nil {
			return do(DeletePod{Name: p.Name, UID: p.UID}, "RestartingMember", fmt.Sprintf("the Pod of member %s has ended and is made again on its volume", p.Name))
		}
	}
	return nil
}

// returnPods makes the missing Pods of volumes again, all of them at once: members
// that were running a moment ago heal the cluster together. Their launchers start
// etcd only where there is data. A volume that is known to be no member's is left
// to deleteLeftoverClaims.
func returnPods(v *view) *step {
	voters := v.knownVoters()
	crowded := !v.hasQuorum() && slices.ContainsFunc(voters, v.unplaced)
	var pods []NewPod
	for i := range v.Claims {
		c := &v.Claims[i]
		if v.pods[c.Name] != nil || c.Deleting || (v.sure && !v.isStarted(c.Name)) {
			continue
		}
		// Where a voter finds no place, none is taken up by who may have no data.
		if crowded && !slices.ContainsFunc(voters, func(m Member) bool { return m.Name == c.Name }) {
			continue
		}
		pods = append(pods, NewPod{Name: c.Name, Role: Returning})
	}
	if len(pods) == 0 {
		return nil
	}
	return do(CreatePods{pods}, "RestartingMember", fmt.Sprintf("the Pods of %s are made again on their volumes", names(pods)))
}

// makeRoom deletes a Pod that has no data where a voter's can't be scheduled and no
// quorum answers: the first may be what takes the second's place, and without the
// second there is never a quorum again. Volumes stay.
func makeRoom(v *view) *step {
	if v.hasQuorum() || v.quorumLost() != "" {
		return nil
	}
	for _, m := range v.knownVoters() {
		if p := v.pods[m.Name]; p != nil {
			if s := v.yield(p); s != nil {
				return s
			}
		}
	}
	return nil
}

// unplaced reports whether a member's Pod can't be scheduled.
func (v *view) unplaced(m Member) bool {
	p := v.pods[m.Name]
	return p != nil && p.Node == "" && p.Unschedulable != ""
}

// yield deletes a Pod, if there is one on a node that has no data or, in the last
// resort, has no vote and keeps its data on its volume, in favour of a Pod that
// can't be scheduled.
func (v *view) yield(p *Pod) *step {
	if p.Unschedulable == "" || p.Node != "" || !p.DeletingSince.IsZero() {
		return nil
	}
	empty := func(j *Pod) bool { return v.isCandidate(j) || (j.Answer.Waiting && v.onVolume(j)) }
	voteless := func(j *Pod) bool {
		return v.onVolume(j) && !slices.ContainsFunc(v.knownVoters(), func(m Member) bool { return m.Name == j.Name })
	}
	for _, givesWay := range []func(*Pod) bool{empty, voteless} {
		for i := range v.Pods {
			if j := &v.Pods[i]; j.Node != "" && j.Name != p.Name && j.DeletingSince.IsZero() && givesWay(j) {
				return do(DeletePod{Name: j.Name, UID: j.UID}, "MakingRoom", fmt.Sprintf("Pod %s gives way to voter %s, which finds no place", j.Name, p.Name))
			}
		}
	}
	return nil
}

// onVolume reports whether a Pod can be made again as it is.
func (v *view) onVolume(p *Pod) bool { return p.Persistent && v.claims[p.Name] != nil }

// isStarted reports whether the name is that of a member which has had data.
func (v *view) isStarted(name string) bool {
	for _, m := range v.list {
		if m.Name == name {
			return m.Started
		}
	}
	return false
}

// awaitQuorum waits while no quorum answers: nothing is added, removed or deleted
// meanwhile (S4, S7, S9).
func awaitQuorum(v *view) *step {
	if v.hasQuorum() {
		return nil
	}
	if why := v.quorumLost(); why != "" {
		return wait(idle, "QuorumLost", why)
	}
	again := shortly
	for i := range v.Pods {
		if p := &v.Pods[i]; v.patience(p) == soon {
			again = soon
		}
	}
	return wait(again, "NoQuorum", "waiting for a quorum of members: "+v.whoIsMissing())
}

// quorumLost says that a majority's data is lost for good, if it is so as far as
// anyone could tell: a membership change in the last moment may be unknown.
func (v *view) quorumLost() string {
	if v.sure {
		return ""
	}
	voters := v.knownVoters()
	if len(voters) == 0 && v.mayHoldData() {
		return ""
	}
	var lost []string
	for _, m := range voters {
		if v.dataGone(m) {
			lost = append(lost, m.Name)
		}
	}
	switch {
	case len(voters) == 0:
		return "no member is left, and no data; restore the cluster from a backup"
	case len(voters)-len(lost) >= quorum(len(voters)):
		return ""
	}
	return fmt.Sprintf("the data of %d of %d voters is lost: %s; restore the cluster from a backup", len(lost), len(voters), strings.Join(lost, ", "))
}

// mayHoldData reports whether any Pod or volume may hold a member's data.
func (v *view) mayHoldData() bool {
	return slices.ContainsFunc(v.Pods, func(p Pod) bool { return !v.isCandidate(&p) && !p.Answer.Waiting }) ||
		slices.ContainsFunc(v.Claims, func(c Claim) bool { return v.pods[c.Name] == nil })
}

// knownVoters are the voters, or while nobody tells (a member that restarts without
// quorum does not answer) those that were last reported. What is lost is said by
// them, and which Pod without data gives way; nothing else rests on them.
func (v *view) knownVoters() []Member {
	if len(v.list) > 0 {
		return v.voters
	}
	var voters []Member
	for _, d := range v.Cluster.LastStatus.MemberDetails {
		if d.Role == v1beta2.MemberVoter {
			voters = append(voters, Member{Name: d.Name, Started: true})
		}
	}
	return voters
}

// dataGone reports whether a member's data is lost for good. A node that is gone
// may come back with it.
func (v *view) dataGone(m Member) bool {
	p := v.pods[m.Name]
	if p == nil {
		return v.claims[m.Name] == nil
	}
	return v.ended(m, p) || v.wiped(m, p)
}

// whoIsMissing says of each member that is not healthy why it is not.
func (v *view) whoIsMissing() string {
	var said []string
	for _, m := range v.list {
		if v.healthy[m.ID] {
			continue
		}
		said = append(said, m.Name+": "+v.whyUnhealthy(m))
	}
	if len(v.list) == 0 {
		for i := range v.Pods {
			p := &v.Pods[i]
			said = append(said, p.Name+": "+v.progress(p))
		}
	}
	if len(said) == 0 {
		return "none answers"
	}
	return strings.Join(said, "; ")
}

// whyUnhealthy says in words what is wrong with a member.
func (v *view) whyUnhealthy(m Member) string {
	if why := v.loss(m); why != "" {
		return why
	}
	p := v.pods[m.Name]
	if p == nil {
		return "its Pod is gone"
	}
	a := v.answer(m)
	switch {
	case a == nil && p.Answer.Reached:
		return fmt.Sprintf("etcd of another cluster (%016x) answers in its place", p.Answer.ClusterID)
	case a == nil:
		return v.progress(p)
	case len(a.Errors) > 0:
		return strings.Join(a.Errors, ", ")
	case a.Leader == 0:
		return "it has no leader"
	}
	return "it is catching up"
}
