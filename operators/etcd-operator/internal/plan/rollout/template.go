package rollout

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file give members Pods as the spec says now. With a volume a
// member's Pod is deleted and recreated on it, one at a time, followers first, and only
// while all members are healthy (see restart.go); without, the member is replaced (see package membership).

// isUpdating reports whether some voter's Pod is not as the spec says.
func isUpdating(v *facts.View) bool {
	return slices.ContainsFunc(v.Voters, func(m facts.Member) bool { p := v.PodOf[m.Name]; return p != nil && v.HasOldTemplate(p) })
}

// RecreateBroken deletes a Pod that can't run, or can't be placed, if it was made under
// another template than that of the spec, so that it is recreated on its volume as the
// spec says now: an edit that went wrong is healed by the next one. It needs no quorum,
// since nothing runs there. S7: the volume stays, and what never started has no data.
func RecreateBroken(v *facts.View) *step.Step {
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Role == facts.Joiner || !v.HasOldTemplate(p) || !v.OnVolume(p) || p.Finished || !p.DeletingSince.IsZero() || v.Stuck(p) == "" {
			continue
		}
		s := step.Do(action.DeletePod{Name: p.Name, UID: p.UID}, v1beta2.ClusterReasonUpdatingMembers,
			v.UpdateProgress(fmt.Sprintf("deleted Pod %s, which does not run (%s), to recreate it", p.Name, v.Stuck(p))))
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// ReturnUpdatedToService lets clients find a member again whose Pod was recreated.
func ReturnUpdatedToService(v *facts.View) *step.Step {
	if !isUpdating(v) && !v.Cluster.WasUpdating() {
		return nil
	}
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil || p.Role != facts.Returning || !v.Healthy[m.ID] || v.HasOldTemplate(p) || p.Template == "" {
			continue
		}
		s := step.Do(action.SetRoles{Roles: []action.PodRole{{Name: p.Name, UID: p.UID, Role: facts.Voter}}}, v1beta2.ClusterReasonMemberUpdated,
			fmt.Sprintf("member %s runs in an updated Pod (%s members)", m.Name, v.Updated())).Announced()
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// AwaitUpdate waits for a member whose Pod was recreated.
func AwaitUpdate(v *facts.View) *step.Step {
	if !isUpdating(v) && !v.Cluster.WasUpdating() {
		return nil
	}
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if v.Healthy[m.ID] || p == nil || (p.Role != facts.Returning && p.DeletingSince.IsZero()) {
			continue
		}
		return step.Wait(step.PollInterval(v, p), v1beta2.ClusterReasonUpdatingMembers, v.UpdateProgress(fmt.Sprintf("waiting for member %s: %s%s", m.Name, v.WhyUnhealthy(m), v.RevertAdvice(p))))
	}
	return nil
}
