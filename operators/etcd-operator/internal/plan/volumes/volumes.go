package volumes

import (
	"fmt"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file let volumes grow, and keep them in the form that the policy of
// their deletion asks for. etcd is not touched by either.

// KeepVolumes brings the members' claims to the form of storage.deletionPolicy, all at
// once. That of a survivor's seed is marked until its recovery is complete (S13). It needs no
// quorum, and it comes early: the EtcdCluster may be deleted next.
func KeepVolumes(v *facts.View) *step.Step {
	var other []action.ClaimRef
	var all []string
	version := ""
	if v.Cluster.Retain && v.Cluster.ClusterID != 0 {
		version = v.Cluster.NeededVersion()
	}
	for i := range v.Claims {
		c := &v.Claims[i]
		if !c.Deleting && v.Cluster.IsRecoveredClaim(c) {
			s := step.Do(action.KeepClaims{Claims: []action.ClaimRef{{Name: c.Name, UID: c.UID}}, Retain: v.Cluster.Retain, Version: version, Recovered: true},
				v1beta2.ClusterReasonRecoveryComplete, fmt.Sprintf("PVC %s is no longer marked as created for a recovery: nothing is left of the cluster before it", c.Name))
			if s = step.Try(v, s); s != nil {
				return s
			}
			continue
		}
		if !c.Deleting && (c.Retained != v.Cluster.Retain || (version != "" && c.Version != version)) && !v.IsHeldBack(action.RejectionOf(action.KeepClaims{}, c.Name)) {
			other, all = append(other, action.ClaimRef{Name: c.Name, UID: c.UID}), append(all, c.Name)
		}
	}
	if len(other) == 0 {
		return nil
	}
	names := strings.Join(all, ", ")
	if v.Cluster.Retain {
		return step.Do(action.KeepClaims{Claims: other, Retain: true, Version: version}, v1beta2.ClusterReasonRetentionEnabled, "these PVCs will be kept when the EtcdCluster is deleted: "+names)
	}
	return step.Do(action.KeepClaims{Claims: other}, v1beta2.ClusterReasonRetentionDisabled, "these PVCs will be deleted together with the EtcdCluster; nothing is deleted now: "+names)
}

// GrowVolume lets the next volume ask for the storage that is wanted. It is done while
// all members are healthy, or to the volume of the one member that is not: a disk that is full may be
// what ails it (S6).
func GrowVolume(v *facts.View) *step.Step {
	next := v.NextToGrow()
	if next == nil || v.Growing() != nil || v.ExpansionBlocker(next) != "" {
		return nil
	}
	return step.Do(action.GrowClaim{Name: next.Name, UID: next.UID, From: next.Requested, Size: v.Cluster.Storage}, v1beta2.ClusterReasonExpandingVolume,
		fmt.Sprintf("started to expand PVC %s from %s to %s", next.Name, facts.Bytes(next.Requested), facts.Bytes(v.Cluster.Storage)))
}

// AwaitGrowth waits for the volume that grows, of which Kubernetes tells, or until the next
// one may; or it says why volumes do not grow although they are to.
func AwaitGrowth(v *facts.View) *step.Step {
	if c := v.Growing(); c != nil {
		return step.Wait(step.Idle, v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("expanding PVC %s to %s%s", c.Name, facts.Bytes(c.Requested), facts.Pending(c)))
	}
	if next := v.NextToGrow(); next != nil {
		return step.Wait(step.BlockerPollInterval(v), v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("waiting to expand PVC %s: %s", next.Name, v.ExpansionBlocker(next)))
	}
	if why := v.RefusedGrowth(); why != "" {
		return step.Wait(step.Idle, v1beta2.ClusterReasonExpansionRefused, why).As(action.AwaitsUser)
	}
	return nil
}
