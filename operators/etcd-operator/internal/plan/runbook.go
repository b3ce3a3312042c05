package plan

import (
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/access"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/bootstrap"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/fence"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/maintenance"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/membership"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/recovery"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/rollout"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/volumes"
)

// rules is the runbook: the first rule that returns a step decides. The order matters, and the comment beside
// each rule gives the reason for its position.
//
// A rule whose action the API server rejects is skipped, so that a rejection holds up only what needs the
// effect. A rule that is Required is waited for instead: the rules after it rely on its effect, and the comment
// gives the reason.
var rules = []step.Rule{
	// What must not be touched (S12).
	fence.Deleting,             // a cluster that is being deleted needs nothing else
	fence.Paused,               // the user's request precedes all work of the operator
	fence.Conflict,             // another owner's objects block each step below
	fence.LiftFence,            // before Fenced, which would wait for it forever
	fence.AdoptSeed,            // the same: the restore's seed ends the fence
	fence.Fenced,               // a restore runs: nothing below is tried
	step.Required(fence.Fence), // requested by a restore, which would have to wait for other steps
	fence.Legacy,               // the rules below create and delete Pods
	fence.Unsupported,          // before an unsupported version is recorded
	access.AwaitCertificates,   // before bootstrap: Pods are built for the recorded CAs
	access.AwaitClientCertificate( // the rules below draw conclusions if a member does not answer
		step.Required(bootstrap.RevokeSeedPermits), // a seed might serve already: the rules below can lose a Pod's data (S2)
		access.OnceBegun(volumes.KeepVolumes),      // these have the same order as below
		access.OnceBegun(membership.ClearFinishedPods),
		access.OnceBegun(membership.ReturnPods),
		access.OnceBegun(access.ReturnReadyToService), // last: it needs the Pods
	),

	// One beginning (S1).
	step.Required(bootstrap.AdoptVolumes),      // before Existed, which refuses to bootstrap if PVCs exist
	bootstrap.Existed,                          // before a seed is named
	step.Required(bootstrap.RecordBootstrap),   // before any Pod is created: its name is recorded (S1)
	step.Required(bootstrap.RevokeSeedPermits), // before the cluster id is latched: from then on, the seed's data counts (S2)
	step.Required(bootstrap.DropOldSeeds),      // before Pods are created in their place, and before another seed serves (S1)
	bootstrap.DropEndedJoiners,                 // the same
	rollout.RepairImage,                        // before all waits for a Pod, which might never run without it
	rollout.RecreateBroken,                     // after RepairImage, which changes less
	step.Required(bootstrap.CreateFirstPods),   // after the rules that make room for them; the next two rules need the seed's Pod
	bootstrap.RestartSeed,                      // needs the seed's Pod
	step.Required(bootstrap.LatchClusterID),    // waits for the seed: the rules below need a bootstrapped cluster

	// A majority is lost for good, and the cluster begins anew with a survivor's data (S13).
	step.Required(recovery.AbortRecovery),       // before each step: a doubt aborts the recovery
	step.Required(recovery.MarkSurvivors),       // survivors must have no clients when the seed is created
	step.Required(recovery.CreateSurvivorsSeed), // after the survivors are marked; the next rule needs the seed's Pod
	step.Required(recovery.AdoptSurvivor),       // waits for the seed: nothing below may change the old cluster

	// What needs no quorum: give members back their Pods.
	volumes.KeepVolumes,                            // early: the EtcdCluster may be deleted next
	membership.ClearFinishedPods,                   // before ReturnPods, which needs the name
	membership.ReturnPods,                          // before all that asks members: silent ones come back
	access.AwaitCredentials,                        // below, etcd has to tell who is there
	membership.MakeRoom,                            // after ReturnPods: the Pod without a place is there
	step.Required(bootstrap.LatchAdopted),          // after adopted PVCs have their Pods; the rules below need the cluster id
	bootstrap.WhileAdopting(maintenance.Corrupted), // before the wait, which would hide it
	bootstrap.AwaitAdopted,                         // below, the cluster id is known
	rollout.RedirectUpgrade,                        // no quorum needed: it may be the upgrade that broke it

	// Everything below needs one.
	step.Required(recovery.DropStraySeeds),  // before another survivor is chosen, and only without a quorum
	recovery.ChooseSurvivor,                 // before AwaitQuorum, which would wait for ever
	maintenance.Corrupted,                   // before AwaitQuorum: it says more of the same
	recovery.AwaitQuorum,                    // below, members and volumes are changed (S4, S7, S9)
	rollout.CancelDowngrade,                 // before anyone joins: etcd takes nobody during a downgrade
	membership.ClearEndedJoiners,            // before others are created
	membership.CreateJoiners,                // before removals: a replacement waits first (S4)
	membership.GrantStartPermit,             // before the next change: who was added starts
	rollout.ReturnToService,                 // before SetRoles, which would not tell of it
	rollout.ReturnUpdatedToService,          // the same
	maintenance.ReturnDefragmentedToService, // the same
	membership.SetRoles,                     // before changes of members: clients follow the roles
	membership.RevokeStartPermits,           // before Promote: a voter never has one (S2)

	// Alarms: what a removed member has left behind, and who is not to hand on its data.
	maintenance.DisarmRemoved,                      // first: etcd refuses writes until then
	maintenance.RecordComparison,                   // before RemoveLost, which goes by what is recorded
	step.Required(maintenance.TransferFromCorrupt), // before AddLearner: a leader sends its data to who joins (S8)

	// Membership, one settled change at a time (S3).
	membership.RemoveStrays, // before AddLearner: they take its place
	membership.Promote,      // before removals: with more voters the quorum bears them
	membership.RemoveLost,   // before AddLearner: etcd adds nobody while too few are connected
	membership.AddLearner,   // after the lost ones are removed
	membership.Shrink,       // last: a member too many does no harm

	// Tidy up.
	recovery.MakeRoomForJoiner,      // before leftovers: a new member waits for the place
	membership.DeleteLeftoverPods,   // after all changes of the list that they could belong to
	membership.DeleteLeftoverClaims, // after the Pods that use them
	recovery.CompleteRecovery,       // when nothing is left of the old cluster

	// Volumes grow one at a time, while all members are healthy (S6).
	volumes.GrowVolume, // before the waits: a full disk may be what ails a member

	// Who is waited for, the most urgent first. Below, all members are healthy.
	maintenance.CompareOthers,   // before AwaitReplacement: it shows whose data is wrong
	membership.AwaitReplacement, // of a member that is lost
	rollout.AwaitRestart,        // of a member that the operator has stopped
	rollout.AwaitUpdate,         // the same
	membership.AwaitNewcomer,    // before AwaitMembers: it says whom it replaces
	maintenance.AwaitDefragment, // the same: it says what the member does
	membership.AwaitMembers,     // of whoever else is missing
	membership.AwaitUnmanaged,   // below is what can wait for a person
	membership.AwaitAccepted,    // last: AwaitMembers says more where there are Pods

	// Space, when there is none.
	maintenance.RepairSpace, // before versions: none changes while an alarm is raised (S10)

	// Versions, images and templates, one member at a time, while all members are healthy (S6, S10).
	rollout.EnableDowngrade, // before any image of the earlier minor
	rollout.RestartMember,   // before FinishVersion: all members are to run it
	rollout.FinishVersion,   // before BeginVersion: one change at a time
	rollout.BeginVersion,    // when the last one is finished
	membership.AwaitMove,    // after restarts: a move that finds no room holds none of them up

	// Space, one member at a time, while all members are healthy (S6, S8).
	maintenance.DefragmentMember, // after versions: a restart is more urgent than space
	maintenance.BeginDefragment,  // when the last round is over
	maintenance.MoveLeader,       // after rounds and restarts, which would move it again

	// Whether all members have the same data, while they are healthy.
	maintenance.BeginComparison, // after all that restarts members, which would spoil it

	// What a user has to change, and what Kubernetes does: nothing else waits for these.
	rollout.RefuseVersion,
	maintenance.RefuseSchedule,
	maintenance.RefuseComparisonSchedule,
	volumes.AwaitGrowth,

	step.AwaitRejected, // last: no other rule has a step that needs no rejected effect
	step.Rest,          // always returns a step
}
