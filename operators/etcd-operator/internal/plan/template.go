package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file give members Pods as the spec says now. With a volume a
// member's Pod is deleted and recreated on it, one at a time, followers first, and only
// while all members are healthy (see restart.go); without, the member is replaced (see move.go).

// hasOldTemplate reports whether a Pod was made under another template than that of the spec. One
// that does not tell its template is taken to be as it should.
func (v *view) hasOldTemplate(p *Pod) bool {
	return p.Template != "" && p.Template != v.Cluster.Template
}

// isToBeRecreated reports whether a member's Pod is to be recreated on its volume. That of a
// cordoned node might find no place there: its member is moved (see toMove).
func (v *view) isToBeRecreated(p *Pod) bool {
	return v.hasOldTemplate(p) && v.onVolume(p) && !p.Cordoned
}

// isUpdating reports whether some voter's Pod is not as the spec says.
func (v *view) isUpdating() bool {
	return slices.ContainsFunc(v.voters, func(m Member) bool { p := v.pods[m.Name]; return p != nil && v.hasOldTemplate(p) })
}

// wasUpdating reports whether some member's Pod was about to be recreated. Only words follow
// from it: what a Pod that is gone was like can't be seen any more.
func (c *Cluster) wasUpdating() bool { return c.LastStatus.UpdatingMember != "" }

// updatingMember is the member whose Pod a step recreates for the sake of its template, or the
// one whose was, until it is a voter's again.
func (v *view) updatingMember(s *step) string {
	switch a := s.action.(type) {
	case RecreatePod:
		return a.Name
	case DeletePod:
		if p := v.pods[a.Name]; p != nil && v.isToBeRecreated(p) {
			return a.Name
		}
	case SetRoles:
		for _, r := range a.Roles {
			if p := v.pods[r.Name]; r.Role == Restarting && p != nil && v.restartsInNewPod(p) {
				return r.Name
			}
		}
	default: // no other is about a Pod's template
	}
	last := v.Cluster.LastStatus.UpdatingMember
	p := v.pods[last]
	if (p == nil && v.claims[last] != nil) || (p != nil && (p.Role != Voter || !p.DeletingSince.IsZero())) {
		return last
	}
	return ""
}

// updated counts the voters that are healthy in a Pod as the spec says: "2 of 3".
func (v *view) updated() string {
	n := 0
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil && !v.hasOldTemplate(p) && p.DeletingSince.IsZero() && v.healthy[m.ID] {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", min(n, v.Cluster.Size), v.Cluster.Size)
}

// updateProgress is what is said while members get Pods as the spec says.
func (v *view) updateProgress(what string) string {
	return fmt.Sprintf("%s members are up to date; %s", v.updated(), what)
}

// recreateBroken deletes a Pod that can't run, or can't be placed, if it was made under
// another template than that of the spec, so that it is recreated on its volume as the
// spec says now: an edit that went wrong is healed by the next one. It needs no quorum,
// since nothing runs there. S7: the volume stays, and what never started has no data.
func recreateBroken(v *view) *step {
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Role == Joiner || !v.hasOldTemplate(p) || !v.onVolume(p) || p.Finished || !p.DeletingSince.IsZero() || v.stuck(p) == "" {
			continue
		}
		return do(DeletePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonUpdatingMembers, v.updateProgress(fmt.Sprintf("deleted Pod %s, which does not run (%s), to recreate it", p.Name, v.stuck(p))))
	}
	return nil
}

// stuck says why nothing runs in a Pod, and will not by itself as far as is known; empty
// if something does or may.
func (v *view) stuck(p *Pod) string {
	switch {
	case p.Answer.Reached || p.Answer.Waiting:
		return ""
	case p.Node == "":
		return p.Unschedulable
	}
	return p.Trouble
}

// returnUpdatedToService lets clients find a member again whose Pod was recreated.
func returnUpdatedToService(v *view) *step {
	if !v.isUpdating() && !v.Cluster.wasUpdating() {
		return nil
	}
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil || p.Role != Returning || !v.healthy[m.ID] || v.hasOldTemplate(p) || p.Template == "" {
			continue
		}
		return do(SetRoles{[]PodRole{{p.Name, p.UID, Voter}}}, v1beta2.ClusterReasonMemberUpdated, fmt.Sprintf("member %s runs in an updated Pod (%s members)", m.Name, v.updated())).announced()
	}
	return nil
}

// awaitUpdate waits for a member whose Pod was recreated.
func awaitUpdate(v *view) *step {
	if !v.isUpdating() && !v.Cluster.wasUpdating() {
		return nil
	}
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if v.healthy[m.ID] || p == nil || (p.Role != Returning && p.DeletingSince.IsZero()) {
			continue
		}
		return wait(v.pollInterval(p), v1beta2.ClusterReasonUpdatingMembers, v.updateProgress(fmt.Sprintf("waiting for member %s: %s%s", m.Name, v.whyUnhealthy(m), v.revertAdvice(p))))
	}
	return nil
}

// revertAdvice is what to do about a Pod that does not run under the spec of today.
func (v *view) revertAdvice(p *Pod) string {
	if v.hasOldTemplate(p) || v.stuck(p) == "" {
		return ""
	}
	return "; if the last edit of spec.pod or spec.etcd caused this, revert it, and the Pod is recreated"
}
