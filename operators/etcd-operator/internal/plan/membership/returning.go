package membership

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file need no quorum: they give members back the Pods that run on
// their volumes, and the room for them. No volume is touched.

// ClearFinishedPods deletes the Pod of a member that has ended for good, so that
// it can be recreated on its volume (S7).
func ClearFinishedPods(v *facts.View) *step.Step {
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Finished && p.Persistent && p.DeletingSince.IsZero() && v.ClaimOf[p.Name] != nil {
			s := step.Do(action.DeletePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonRestartingMember,
				fmt.Sprintf("deleted the Pod of member %s, which has ended, to recreate it on its volume", p.Name)).Explains(v1beta2.ConditionRecovering)
			if s = step.Try(v, s); s != nil {
				return s
			}
		}
	}
	return nil
}

// ReturnPods recreates the missing Pods of volumes, all of them at once: members
// that were running a moment ago heal the cluster together. Their launchers start
// etcd only where there is data. A volume that is known to belong to no member is left
// to DeleteLeftoverClaims.
func ReturnPods(v *facts.View) *step.Step {
	if v.UnplacedPod() != nil {
		return nil // see LatchAdopted
	}
	voters := v.KnownVoters()
	crowded := !v.HasQuorum() && slices.ContainsFunc(voters, func(m facts.Member) bool { return unplaced(v, m) }) || v.UnreportedPod() != nil
	var pods []action.NewPod
	for i := range v.Claims {
		c := &v.Claims[i]
		if !v.LacksPod(c) {
			continue
		}
		// Where a voter, or who may be one, finds no place, none is taken up by who may have no data.
		if crowded && !slices.ContainsFunc(voters, func(m facts.Member) bool { return m.Name == c.Name }) {
			continue
		}
		p := action.NewPod{Name: c.Name, Role: facts.Returning, Version: v.NewPodVersion(c.Name)}
		if v.IsHeldBack(action.RejectedPod(p, false)) {
			continue // the others heal what they can
		}
		pods = append(pods, p)
	}
	if len(pods) == 0 {
		return nil
	}
	s := step.Do(action.CreatePods{Pods: pods}, v1beta2.ClusterReasonRestartingMember, fmt.Sprintf("recreated the Pods of %s on their volumes", step.Names(pods)))
	if v.Cluster.WasUpdating() {
		s.Reason = v1beta2.ClusterReasonUpdatingMembers
		return s
	}
	return s.Explains(v1beta2.ConditionRecovering)
}

// MakeRoom deletes a Pod that has no data where a voter's can't be scheduled, or that of one
// who may have got its vote since the last report, and no quorum answers: the first may be
// what takes the second's place, and without the second there is never a quorum again.
// Volumes stay. With a quorum only a joiner gives way, and only on the node of the voter's volume.
func MakeRoom(v *facts.View) *step.Step {
	if v.HasQuorum() {
		return leaveNode(v)
	}
	// Of adopted volumes nobody knows yet which are voters'.
	if v.Cluster.ClusterID != 0 && v.QuorumLost() != "" {
		return nil
	}
	for _, m := range v.KnownVoters() {
		if p := v.PodOf[m.Name]; p != nil && v.HasTurn(p) {
			if s := step.Yield(v, p); s != nil {
				return s
			}
		}
	}
	if p := v.UnreportedPod(); p != nil {
		return step.YieldEmpty(v, p)
	}
	return nil
}

// leaveNode deletes the Pod of a joiner that has come to the node of a voter's volume while the
// voter's Pod was away, and keeps that from its place. A joiner can go elsewhere.
func leaveNode(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		p, c := v.PodOf[m.Name], v.ClaimOf[m.Name]
		if p == nil || c == nil || c.Node == "" || v.Loss(m) != "" {
			continue
		}
		if s := step.YieldNode(v, p, c.Node); s != nil {
			return s
		}
	}
	return nil
}

// unplaced reports whether a member's Pod can't be scheduled, and others give way to it.
func unplaced(v *facts.View, m facts.Member) bool {
	p := v.PodOf[m.Name]
	return p != nil && p.Node == "" && p.Unschedulable != "" && v.HasTurn(p)
}
