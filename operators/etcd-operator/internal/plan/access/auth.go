package access

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file are for clusters on which etcd's own authentication is enabled,
// and on which the operator is nobody. Then etcd tells it neither who the members are
// nor how they do, and takes no change of members. What can still be seen is who serves
// linearizable reads: etcd asks the quorum before it refuses one.

// AwaitCredentials waits while etcd refuses the operator. The cluster serves on: nothing
// is done to it but what needs no word of etcd's, which is above, and that clients find
// those again who have come back. That etcd does not tell who is there says nothing of
// who is (S9). Where no quorum answers anybody, that is what comes first.
func AwaitCredentials(v *facts.View) *step.Step {
	refused := v.Refused()
	serves := slices.ContainsFunc(v.Pods, func(p facts.Pod) bool { return p.ServesUnseen() })
	if !serves || v.HasQuorum() {
		return nil // one may refuse for a moment: its token is new
	}
	if s := step.First(v, ReturnReadyToService); s != nil {
		return s
	}
	requeueAfter := step.Idle
	if v.Cluster.RootSecret != "" {
		requeueAfter = step.Slowly // no watch tells of a Secret
	}
	return step.Wait(requeueAfter, refused.Kind(), v.Cluster.WhatIsMissing(refused)).As(action.Unauthorized)
}

// ReturnReadyToService lets clients find the voters again, by the last report, whose Pods were
// taken from them and serve again. Each has this cluster's data (S1), on a member's volume
// or since it refuses a stranger: a cluster that begins anew, or that the operator has not
// taken over, does not get as far as this rule.
func ReturnReadyToService(v *facts.View) *step.Step {
	var roles []action.PodRole
	for _, m := range v.KnownVoters() {
		p := v.PodOf[m.Name]
		if p == nil || !v.Serves(p) || v.Cluster.ClusterID == 0 || !p.DeletingSince.IsZero() || p.From != "" {
			continue
		}
		if p.Role == facts.Returning || p.Role == facts.Restarting {
			roles = append(roles, action.PodRole{Name: p.Name, UID: p.UID, Role: facts.Voter})
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return step.Do(action.SetRoles{Roles: roles}, v1beta2.ClusterReasonSettingRoles, fmt.Sprintf("member %s serves again: clients are routed to it", roles[0].Name))
}
