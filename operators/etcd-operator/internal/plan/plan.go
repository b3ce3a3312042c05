package plan

import (
	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/access"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/bootstrap"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/fence"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/maintenance"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/membership"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/recovery"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/rollout"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/status"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/volumes"
)

// rules is the runbook: the first rule that has something to say decides. Order
// is behaviour.
var rules = []step.Rule{
	// What must not be touched.
	fence.Deleting,
	fence.Paused,
	fence.Conflict,
	fence.LiftFence,
	fence.AdoptSeed,
	fence.Fenced,
	fence.Fence,
	fence.Legacy,
	fence.Unsupported,
	access.AwaitCertificates,
	// Members get back the Pods on their volumes, and clients find those again whose Pods are ready.
	access.AwaitClientCertificate(
		bootstrap.RevokeSeedPermits,
		access.OnceBegun(volumes.KeepVolumes),
		access.OnceBegun(membership.ClearFinishedPods),
		access.OnceBegun(membership.ReturnPods),
		access.OnceBegun(access.ReturnReadyToService),
	),

	// One beginning (S1).
	bootstrap.AdoptVolumes,
	bootstrap.Existed,
	bootstrap.RecordBootstrap,
	bootstrap.RevokeSeedPermits,
	bootstrap.DropOldSeeds,
	bootstrap.DropEndedJoiners,
	rollout.RepairImage,
	rollout.RecreateBroken,
	bootstrap.CreateFirstPods,
	bootstrap.RestartSeed,
	bootstrap.LatchClusterID,

	// A majority is lost for good, and the cluster begins anew with a survivor's data (S13).
	recovery.AbortRecovery,
	recovery.MarkSurvivors,
	recovery.CreateSurvivorsSeed,
	recovery.AdoptSurvivor,

	// What needs no quorum: give members back their Pods.
	volumes.KeepVolumes,
	membership.ClearFinishedPods,
	membership.ReturnPods,
	access.AwaitCredentials,
	membership.MakeRoom,
	bootstrap.LatchAdopted,
	bootstrap.WhileAdopting(maintenance.Corrupted),
	bootstrap.AwaitAdopted,
	rollout.RedirectUpgrade,

	// Everything below needs one.
	recovery.DropStraySeeds,
	recovery.ChooseSurvivor,
	maintenance.Corrupted,
	recovery.AwaitQuorum,
	rollout.CancelDowngrade,
	membership.ClearEndedJoiners,
	membership.CreateJoiners,
	membership.GrantStartPermit,
	rollout.ReturnToService,
	rollout.ReturnUpdatedToService,
	maintenance.ReturnDefragmentedToService,
	membership.SetRoles,
	membership.RevokeStartPermits,

	// Alarms: what a removed member has left behind, and who is not to hand on its data.
	maintenance.DisarmRemoved,
	maintenance.RecordComparison,
	maintenance.TransferFromCorrupt,

	// Membership, one settled change at a time (S3).
	membership.RemoveStrays,
	membership.Promote,
	membership.RemoveLost,
	membership.AddLearner,
	membership.Shrink,

	// Tidy up.
	recovery.MakeRoomForJoiner,
	membership.DeleteLeftoverPods,
	membership.DeleteLeftoverClaims,
	recovery.CompleteRecovery,

	// Volumes grow one at a time, while all members are healthy (S6).
	volumes.GrowVolume,

	maintenance.CompareOthers,
	membership.AwaitReplacement,
	rollout.AwaitRestart,
	rollout.AwaitUpdate,
	membership.AwaitNewcomer,
	maintenance.AwaitDefragment,
	membership.AwaitMembers,
	membership.AwaitUnmanaged,
	membership.AwaitAccepted,

	// Space, when there is none.
	maintenance.RepairSpace,

	// Versions, images and templates, one member at a time, while all members are healthy (S6, S10).
	rollout.EnableDowngrade,
	rollout.RestartMember,
	rollout.FinishVersion,
	rollout.BeginVersion,
	membership.AwaitMove,

	// Space, one member at a time, while all members are healthy (S6, S8).
	maintenance.DefragmentMember,
	maintenance.BeginDefragment,

	// Whether all members have the same data, while they are healthy.
	maintenance.BeginComparison,

	rollout.RefuseVersion,
	maintenance.RefuseSchedule,
	maintenance.RefuseComparisonSchedule,
	volumes.AwaitGrowth,

	step.Rest,
}

// Plan decides the next step for one EtcdCluster. It never panics, whatever the
// Observation, and it returns the same Decision for the same Observation.
func Plan(o facts.Observation) Decision {
	v := facts.NewView(o)
	return decide(v, firstStep(v))
}

// Failed is the status if the action that Plan decides on has failed, or if etcd asks to wait with
// it: no condition says that it was carried out.
func Failed(o facts.Observation, failure error, isRefused bool) v1beta2.ClusterStatus {
	v := facts.NewView(o)
	s := firstStep(v)
	s.Reason, s.Message = v1beta2.ClusterReasonActionFailed, failure.Error()
	s.Outcome, s.Brief, s.Explained = action.Rejected, "", ""
	if isRefused {
		s.Reason, s.Message, s.Outcome = v1beta2.ClusterReasonWaitingForEtcd, "waiting until etcd allows it: "+s.Message, action.InProgress
	}
	return status.Of(v, s)
}

func firstStep(v *facts.View) *step.Step {
	for _, r := range rules {
		if s := r(v); s != nil {
			return step.AwaitChildren(v, step.AwaitRejected(v, s))
		}
	}
	return step.Rest(v) // not reached: rest always answers
}

func decide(v *facts.View, s *step.Step) Decision {
	status := status.Of(v, s)
	requeueAfter := step.UntilRetry(v, step.RequeueSooner(v, s.RequeueAfter))
	if latches(v, &status) {
		requeueAfter = min(requeueAfter, step.AtOnce)
	}
	return Decision{
		Action:       s.Action,
		Outcome:      s.Outcome,
		Reason:       s.Reason,
		Message:      s.Message,
		RequeueAfter: requeueAfter,
		SkipChildren: step.SkipsChildren(v, s),
		Budget:       step.Budget(v, s.Action),
		Status:       status,

		Announcement: s.Announcement,
		NamesBackups: s.NamesBackups,

		AwaitsCertificates: s.AwaitsCertificates,
		RemoveByHand:       s.RemoveByHand,
		DeleteEmpty:        v.DeleteEmpty,
		DeleteIfDamaged:    v.DeleteIfDamaged,
		MemberLost:         s.MemberLost,
		PodStuck:           s.PodStuck,

		ChildrenHeldBack: s.ChildrenHeldBack,
	}
}

// latches reports whether a status differs from the last one in what is read again from
// it: nothing tells the operator of what it has written itself.
func latches(v *facts.View, status *v1beta2.ClusterStatus) bool {
	was, is := v1beta2.TLSStatus{}, v1beta2.TLSStatus{}
	if t := v.Cluster.LastStatus.TLS; t != nil {
		was = *t
	}
	if t := status.TLS; t != nil {
		is = *t
	}
	return was.Trust != is.Trust || was.Rotation != is.Rotation ||
		(v.Cluster.LastStatus.QuorumLostSince == nil) != (status.QuorumLostSince == nil)
}
