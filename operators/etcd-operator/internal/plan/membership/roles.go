package membership

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file change the member list, one settled change at a time
// (S3), and the marks on Pods that follow from it.

// canDefragment reports whether a member that is marked stays so until its turn has come,
// because nothing else comes first.
func canDefragment(v *facts.View, m facts.Member) bool {
	next := v.NextToDefragment()
	if next == nil || next.ID != m.ID || len(v.Voters) < v.Cluster.Size || len(v.List) > len(v.Voters) || v.IsRestarting() {
		return false
	}
	moved, _ := v.ToMove()
	if !v.IsRepairingSpace() && (v.Cluster.IsChangingVersion() || v.NextToRestart() != nil || moved != nil || len(v.Voters) > v.Cluster.Size) {
		return false
	}
	for _, o := range v.Voters {
		p := v.PodOf[o.Name]
		if p == nil || !v.Healthy[o.ID] || !p.DeletingSince.IsZero() || !p.UnreadySince.IsZero() || !p.NodeLostSince.IsZero() {
			return false
		}
	}
	return true
}

// SetRoles writes on each Pod what its member is. The client Service and the
// PodDisruptionBudget follow the label.
func SetRoles(v *facts.View) *step.Step {
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

// RevokeStartPermits takes the permit to start from members that have started: it was for
// once (S2). That they are in the list as started says that they have had data, whether
// they answer or not. It comes before promote: a voter never has a permit to start without
// data, whatever its Pod loses.
func RevokeStartPermits(v *facts.View) *step.Step {
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

// canShrink reports whether a voter can be removed now: the status can be written, and no other change of the
// cluster is in progress. If it cannot, the voter serves clients until then.
func canShrink(v *facts.View, victim *facts.Member) bool {
	return !v.IsStatusRejected() && !v.IsMovingOn() && !v.IsRestarting() && !slices.ContainsFunc(v.Voters, func(m facts.Member) bool {
		p := v.PodOf[m.Name]
		return p != nil && p.Role == facts.Defragmenting && (m.ID != victim.ID || v.IsDefragmenting(p))
	})
}

// shouldServeAgain reports whether a member that was marked for a restart, and that is not
// changed yet, is to serve clients again, because something else comes first.
func shouldServeAgain(v *facts.View, m facts.Member) bool {
	next := v.NextToRestart()
	if next == nil || next.ID != m.ID || len(v.Voters) < v.Cluster.Size || len(v.List) > len(v.Voters) {
		return true
	}
	if p := v.PodOf[m.Name]; v.RestartHeldBack(p) || (v.IsBlockedByAlarm(p) && !v.RestartsInNewPod(p)) {
		return true
	}
	for _, o := range v.Voters {
		p := v.PodOf[o.Name]
		if p == nil || !p.DeletingSince.IsZero() || !p.UnreadySince.IsZero() || !p.NodeLostSince.IsZero() {
			return true
		}
	}
	return false
}
