package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// status is what the Observation implies, and the step that is taken on it.
// Conditions carry no times: those are set when they are written.
func (v *view) status(s *step) v1beta2.RestoreStatus {
	st := *v.last.DeepCopy()
	if s.quiet {
		return st
	}
	st.Phase = s.phase
	st.ObservedGeneration = v.Restore.Generation
	st.Cluster = v.name
	if st.StartTime == nil {
		st.StartTime = v.now()
	}
	if st.SeedUID == "" && v.seed != nil {
		st.SeedUID = v.seed.UID
	}
	if s.phase == v1beta2.RestoreRollingBack && v.deleted && st.Failure == nil {
		setFailure(&st, v1beta2.RestoreReasonDeleted, "the EtcdRestore was deleted before its seed was adopted: the cluster returns to its old members")
	}
	st.WaitingFor = s.waitingFor
	st.Progress = v.progress(s)
	st.Catalogue = v.catalogue()
	if s.record != nil {
		s.record(&st)
	}
	st.Conditions = v.conditions(&st, s)
	return st
}

// progress is how much the agent has fetched. What it told last stands for as long as
// the same phase goes on.
func (v *view) progress(s *step) string {
	p := v.Progress
	switch {
	case !s.progress:
		return ""
	case p == nil && v.last.Phase == s.phase:
		return v.last.Progress
	case p == nil:
		return ""
	case p.Total <= 0:
		return v1beta2.ReadableSize(max(p.Fetched, 0))
	}
	return fmt.Sprintf("%s of %s", v1beta2.ReadableSize(max(p.Fetched, 0)), v1beta2.ReadableSize(p.Total))
}

// conditions are in a fixed order: that in which they come true.
func (v *view) conditions(st *v1beta2.RestoreStatus, s *step) []metav1.Condition {
	if v.spec.VerifyOnly {
		return []metav1.Condition{v.verified(st, s), v.isComplete(st, s), v.hasFailed(st, s)}
	}
	return []metav1.Condition{v.verified(st, s), v.isFenced(st, s), v.isHandedOff(st, s), v.isComplete(st, s), v.hasFailed(st, s)}
}

func (v *view) condition(kind string, is bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: v.Restore.Generation}
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}

func (v *view) verified(st *v1beta2.RestoreStatus, s *step) metav1.Condition {
	if st.Snapshot != nil {
		return v.condition(v1beta2.ConditionVerified, true, v1beta2.RestoreReasonSnapshotVerified, v.describe(st.Snapshot, st.Restored, v.targetOf(st)))
	}
	return v.condition(v1beta2.ConditionVerified, false, s.reason, s.message)
}

func (v *view) isFenced(st *v1beta2.RestoreStatus, s *step) metav1.Condition {
	const kind = v1beta2.ConditionFenced
	switch {
	case st.HandOffTime != nil:
		return v.condition(kind, false, v1beta2.RestoreReasonSeedAdopted, fmt.Sprintf("etcd-operator reconciles EtcdCluster %s again", v.name))
	case v.fenced:
		return v.condition(kind, true, v1beta2.RestoreReasonFenced, fmt.Sprintf("etcd-operator has suspended its reconciliation of EtcdCluster %s for this restore; %s%s", v.name, v.outlook(), v.meanwhile()))
	case st.Phase == v1beta2.RestoreFencing:
		return v.condition(kind, false, s.reason, s.message)
	case v.name == "":
		return v.condition(kind, false, v1beta2.RestoreReasonNotFenced, "no EtcdCluster is fenced")
	}
	return v.condition(kind, false, v1beta2.RestoreReasonNotFenced, fmt.Sprintf("etcd-operator reconciles EtcdCluster %s, and this restore does not touch it", v.name))
}

func (v *view) isHandedOff(st *v1beta2.RestoreStatus, s *step) metav1.Condition {
	const kind = v1beta2.ConditionHandedOff
	switch {
	case st.HandOffTime != nil:
		return v.condition(kind, true, v1beta2.RestoreReasonSeedAdopted, fmt.Sprintf("etcd-operator adopted seed %s for EtcdCluster %s, beginning at revision %d", st.SeedMember, v.name, st.Revision))
	case st.Phase == v1beta2.RestoreSeeding:
		return v.condition(kind, false, s.reason, s.message)
	}
	return v.condition(kind, false, v1beta2.RestoreReasonNotHandedOff, "no seed is running yet")
}

// isComplete says in every phase what is happening now.
func (v *view) isComplete(st *v1beta2.RestoreStatus, s *step) metav1.Condition {
	return v.condition(v1beta2.ConditionComplete, st.Phase == v1beta2.RestoreComplete || st.Phase == v1beta2.RestoreVerified, s.reason, s.message)
}

func (v *view) hasFailed(st *v1beta2.RestoreStatus, s *step) metav1.Condition {
	const kind = v1beta2.ConditionFailed
	if st.Phase == v1beta2.RestoreFailed {
		return v.condition(kind, true, s.reason, s.message)
	}
	if st.Phase == v1beta2.RestoreRollingBack {
		return v.condition(kind, false, v1beta2.RestoreReasonRollingBack, "rolling back: "+st.Reason)
	}
	return v.condition(kind, false, v1beta2.RestoreReasonNotFailed, "the restore has not failed")
}
