package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/quorum"
)

// step is what a rule says: an action, or a wait.
type step struct {
	action          Action
	outcome         Outcome
	reason, message string
	requeueAfter    time.Duration
	// brief is what all but the event and Available say instead of a message that is long.
	brief string
	// explained is the condition, beside Progressing, that has the reason and message.
	explained    string
	announcement Announcement
	// namesBackups is true when the message tells of EtcdBackups.
	namesBackups bool
	// awaitsCertificates is true when the step waits for what CertificatesReady reports.
	awaitsCertificates bool
	// memberLost and podStuck are what the conditions have found (see Decision).
	memberLost string
	podStuck   bool
	// removeByHand is the member that the message asks the user to remove; 0 if none.
	removeByHand uint64
	// childrenHeldBack are the refused children that are not to be tried yet.
	childrenHeldBack []facts.Rejection
}

// rule returns the step that it asks for, or nil if the next rule is to be tried.
type rule func(*facts.View) *step

// How soon to look again. What Kubernetes changes is reported by watches; what
// etcd and the launchers change is not.
const (
	// next is after an action: what it did to etcd shows at once.
	next = 10 * time.Millisecond
	// fastPoll is for something that takes a fraction of a second and that no watch
	// reports: a launcher or an etcd that starts, a learner that catches up.
	fastPoll = 100 * time.Millisecond
	// shortly is for the same when it has already taken long, and for what etcd
	// itself refuses for a few seconds after a change.
	shortly = 2 * time.Second
	// slowly is for what has not come about for minutes, and may never.
	slowly = 15 * time.Second
	// idle is the slow fallback of a cluster that is as it should be.
	idle = time.Minute
)

// do is the step that carries out an action; the next one follows at once. The message says
// what has been done, or begun: it is told once the action has been carried out (see Failed).
func do(a Action, reason, message string) *step {
	return &step{action: a, reason: reason, message: message, requeueAfter: next}
}

// wait is the step that does nothing for now.
func wait(requeueAfter time.Duration, reason, message string) *step {
	return &step{reason: reason, message: message, requeueAfter: requeueAfter}
}

// rules is the runbook: the first rule that has something to say decides. Order
// is behaviour.
var rules = []rule{
	// What must not be touched.
	deleting,
	paused,
	conflict,
	liftFence,
	adoptSeed,
	fenced,
	fence,
	legacy,
	unsupported,
	awaitCertificates,
	// Members get back the Pods on their volumes, and clients find those again whose Pods are ready.
	awaitClientCertificate(
		revokeSeedPermits,
		onceBegun(keepVolumes),
		onceBegun(clearFinishedPods),
		onceBegun(returnPods),
		onceBegun(returnReadyToService),
	),

	// One beginning (S1).
	adoptVolumes,
	existed,
	recordBootstrap,
	revokeSeedPermits,
	dropOldSeeds,
	dropEndedJoiners,
	repairImage,
	recreateBroken,
	createFirstPods,
	restartSeed,
	latchClusterID,

	// A majority is lost for good, and the cluster begins anew with a survivor's data (S13).
	abortRecovery,
	markSurvivors,
	createSurvivorsSeed,
	adoptSurvivor,

	// What needs no quorum: give members back their Pods.
	keepVolumes,
	clearFinishedPods,
	returnPods,
	awaitCredentials,
	makeRoom,
	latchAdopted,
	whileAdopting(corrupted),
	awaitAdopted,
	redirectUpgrade,

	// Everything below needs one.
	dropStraySeeds,
	chooseSurvivor,
	corrupted,
	awaitQuorum,
	cancelDowngrade,
	clearEndedJoiners,
	createJoiners,
	grantStartPermit,
	returnToService,
	returnUpdatedToService,
	returnDefragmentedToService,
	setRoles,
	revokeStartPermits,

	// Alarms: what a removed member has left behind, and who is not to hand on its data.
	disarmRemoved,
	recordComparison,
	transferFromCorrupt,

	// Membership, one settled change at a time (S3).
	removeStrays,
	promote,
	removeLost,
	addLearner,
	shrink,

	// Tidy up.
	makeRoomForJoiner,
	deleteLeftoverPods,
	deleteLeftoverClaims,
	completeRecovery,

	// Volumes grow one at a time, while all members are healthy (S6).
	growVolume,

	compareOthers,
	awaitReplacement,
	awaitRestart,
	awaitUpdate,
	awaitNewcomer,
	awaitDefragment,
	awaitMembers,
	awaitUnmanaged,
	awaitAccepted,

	// Space, when there is none.
	repairSpace,

	// Versions, images and templates, one member at a time, while all members are healthy (S6, S10).
	enableDowngrade,
	restartMember,
	finishVersion,
	beginVersion,
	awaitMove,

	// Space, one member at a time, while all members are healthy (S6, S8).
	defragmentMember,
	beginDefragment,

	// Whether all members have the same data, while they are healthy.
	beginComparison,

	refuseVersion,
	refuseSchedule,
	refuseComparisonSchedule,
	awaitGrowth,

	rest,
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
	s.reason, s.message = v1beta2.ClusterReasonActionFailed, failure.Error()
	s.outcome, s.brief, s.explained = Rejected, "", ""
	if isRefused {
		s.reason, s.message, s.outcome = v1beta2.ClusterReasonWaitingForEtcd, "waiting until etcd allows it: "+s.message, InProgress
	}
	return Of(v, s)
}

func firstStep(v *facts.View) *step {
	for _, r := range rules {
		if s := r(v); s != nil {
			return awaitChildren(v, awaitRejected(v, s))
		}
	}
	return rest(v) // not reached: rest always answers
}

func decide(v *facts.View, s *step) Decision {
	status := Of(v, s)
	requeueAfter := untilRetry(v, requeueSooner(v, s.requeueAfter))
	if latches(v, &status) {
		requeueAfter = min(requeueAfter, next)
	}
	return Decision{
		Action:       s.action,
		Outcome:      s.outcome,
		Reason:       s.reason,
		Message:      s.message,
		RequeueAfter: requeueAfter,
		SkipChildren: skipsChildren(v, s),
		Budget:       budget(v, s.action),
		Status:       status,

		Announcement: s.announcement,
		NamesBackups: s.namesBackups,

		AwaitsCertificates: s.awaitsCertificates,
		RemoveByHand:       s.removeByHand,
		DeleteEmpty:        v.DeleteEmpty,
		DeleteIfDamaged:    v.DeleteIfDamaged,
		MemberLost:         s.memberLost,
		PodStuck:           s.podStuck,

		ChildrenHeldBack: s.childrenHeldBack,
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

// skipsChildren reports whether nothing at all of the cluster may be touched.
func skipsChildren(v *facts.View, s *step) bool {
	return v.Cluster.Fence.Stands() || s.outcome.skipsChildren()
}

// budget is the quorum of the voters, counting one that is about to get its vote.
// It is lowered only after a removal has settled.
func budget(v *facts.View, a Action) int {
	if !v.Settled || v.Cluster.Deleting || v.Cluster.Paused || v.Cluster.Fence.Stands() {
		return facts.KeepBudget
	}
	voters := len(v.Voters)
	if _, ok := a.(Promote); ok {
		voters++
	}
	if !v.Cluster.DisruptionBudget || max(v.Cluster.Size, voters) < 3 {
		return facts.NoBudget
	}
	return quorum.Majority(voters)
}
