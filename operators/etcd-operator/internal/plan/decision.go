package plan

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Decision is what to do next, and what to say.
type Decision struct {
	// Action is the one next action; nil to wait.
	Action Action
	// Outcome is what it means for the cluster.
	Outcome Outcome
	// Announcement is whether the action gets an event.
	Announcement Announcement
	// Reason and Message say why: the same words in the event, the log and the
	// condition. Reason is CamelCase.
	Reason  string
	Message string
	// RequeueAfter is after how long the cluster is to be observed again even if no watch
	// reports a change; always positive.
	RequeueAfter time.Duration
	// SkipChildren is true when nothing at all of the cluster may be touched: not even
	// its Services.
	SkipChildren bool
	// Budget is the minAvailable that the PodDisruptionBudget must have before
	// Action is carried out: KeepBudget to leave what there is, NoBudget for none.
	Budget int
	// Status is the whole status that the Observation implies, its conditions
	// without times.
	Status v1beta2.ClusterStatus
	// NamesBackups is true when Message names the newest stored snapshot: it is to be
	// looked up, and the step decided again with it, before anything is reported.
	NamesBackups bool
	// AwaitsCertificates is true when the Decision waits for what the condition
	// CertificatesReady reports: Reason and Message tell of it.
	AwaitsCertificates bool
	// RemoveByHand is the id of the member that Message asks the user to remove from the
	// member list; 0 if it asks for none.
	RemoveByHand uint64
	// DeleteEmpty is the name of the Pod that Message asks the user to delete with its PVC, which
	// holds no data; empty if it asks for none.
	DeleteEmpty string
	// DeleteIfDamaged are the names of the members whose Pods, and PVCs, the user is asked to
	// delete if he is sure that their data is damaged.
	DeleteIfDamaged []string
	// MemberLost says which member is lost, and why; empty if none is, or a majority.
	MemberLost string
	// PodStuck: an image cannot be pulled, or the seed does not run: Degraded says which.
	PodStuck bool
	// ChildrenHeldBack are the refused children (see ApplyService and the others) that are
	// not to be tried yet.
	ChildrenHeldBack []facts.Rejection
}

// Action is one effect on the world. Each is safe to repeat, and to stop in the
// middle: the next Observation shows how far it came.
//
//sumtype:decl
type Action interface {
	// traits also keeps the type sealed: a linter checks that each switch over it has all
	// actions.
	traits() traits
}

// traits are what holds of an action wherever it goes. Its type says so, and no other place;
// what it leaves out is false, or empty.
type traits struct {
	// kind names the action in metrics, events and logs, such as "AddLearner".
	kind string
	// record writes into the status what the action latches there; nil if it latches nothing,
	// and its effect is observed.
	record func(*v1beta2.ClusterStatus)
	// object is the name of the one object that the action changes, whose change the API server
	// can refuse. It is empty if it is about the whole cluster, or no API server can refuse it.
	object string
	// step is true of a step on the way to something that is told when it is there: it gets no
	// event of its own.
	step bool
	// warning is true if its event is a Warning.
	warning bool
	// member is the name of the one member that its event is about.
	member string
	// adopts is the name of the Pod that is the cluster from then on.
	adopts string
	// ofFence is true of etcd-operator's part of a restore: it is carried out on an
	// EtcdCluster that is fenced.
	ofFence bool
}

// RecordBootstrap latches the seed's name and token, and the version that the
// cluster begins with, in the status (S1). Nothing else is done before that has
// succeeded. It is recorded only if a live list shows no claim of the cluster's name that
// is not of this very beginning: unless Adopted there is none at all.
type RecordBootstrap struct {
	facts.Bootstrap
	Version string
}

// LatchClusterID latches the cluster id that the seed reports (S1).
type LatchClusterID struct{ ClusterID uint64 }

// RecordVersion latches in the status which version the cluster runs, and the one that
// its members move to from now on; Target is empty if they move no more. Index is raft's
// index when the last of them came to the minor of Current: see VersionIndex. Size is the
// one that the cluster keeps until they are there.
type RecordVersion struct {
	Current, Target string
	Index           uint64
	Size            int
}

// AcknowledgeFence latches in the status that the cluster is left to a restore.
type AcknowledgeFence struct{ Restore string }

// LiftFence takes that back.
type LiftFence struct{ Restore string }

// AdoptSeed latches, in one write of the status, that the seed of a restore is the
// cluster: its cluster id in place of the old one, and itself as the beginning. It is
// carried out only if the Pod, read live, is still the one of that uid, is not terminating,
// and has the EtcdCluster as controller.
type AdoptSeed struct {
	// Restore is the restore's uid, Name and UID are the Pod's.
	Restore, Name, UID string
	ClusterID          uint64
	// Version is what the seed runs; empty if it can't be told.
	Version string
}

// RecordSurvivor latches in the status with whose data the cluster begins anew, before
// anything is done about it (S13). It is carried out only if live lists have the same
// Pods and claims, by uid, as the Observation: what might hold data has been asked.
type RecordSurvivor struct{ Recovery facts.Recovery }

// RevokeSurvivorPermit revokes the permit of a survivor's seed to make its data dir, by uid: a
// disk that it loses from then on has lost its data (S2).
type RevokeSurvivorPermit struct{ Name, UID string }

// AdoptSurvivor latches, in one write of the status, that the seed made of a survivor's
// snapshot is the cluster: its cluster id in place of the lost one (S13). It is carried
// out only if the Pods, read live, are those that were observed, by uid: the seed is not
// going, and all others of the old cluster are marked Survivor.
type AdoptSurvivor struct {
	Name, UID string
	ClusterID uint64
	// Token is that of the recovery.
	Token string
}

// DropSeed deletes a survivor's seed that was never adopted: its Pod, by uid, or, when
// there is none, its claim. It is carried out only if that, read live, was made for a
// recovery of Token, and the EtcdCluster has not begun with that token: no member's data
// is touched (S7).
type DropSeed struct{ Name, PodUID, ClaimUID, Token string }

// EndRecovery latches that a recovery is over: complete, or aborted before its seed
// was adopted, so that no more is known of it.
type EndRecovery struct {
	Token    string
	Complete bool
}

// CreatePods makes Pods, each with its claim where members are persistent. All of
// them are made side by side: a Pod without a StartPermit does no harm.
// It is carried out only if a live list of the cluster's Pods has the same names
// as Observation.Pods (S11). One that returns is made only if its claim, read live, is
// still the cluster's.
type CreatePods struct{ Pods []NewPod }

// NewPod is one of the Pods to create.
type NewPod struct {
	Name string
	Role facts.Role
	// Version is what it is to run.
	Version string
	// StartPermit is written on the Pod from its beginning; nil for none.
	StartPermit *facts.StartPermit
	// Recovery is what a survivor's seed is made by; nil for every other Pod.
	Recovery *facts.Recovery
}

// SetRoles sets the label etcd_role of Pods.
type SetRoles struct{ Roles []PodRole }

// PodRole is the role of one Pod, by uid.
type PodRole struct {
	Name, UID string
	Role      facts.Role
}

// GrantStartPermit writes a StartPermit on a Pod, by uid, so that its launcher starts etcd (S2).
type GrantStartPermit struct {
	Name, UID   string
	StartPermit facts.StartPermit
}

// RevokeStartPermits takes StartPermits away from Pods whose members have started (S2).
type RevokeStartPermits struct{ Pods []PodRef }

// PodRef names one Pod, by uid.
type PodRef struct{ Name, UID string }

// AddLearner adds a member without a vote, under the peer URL of the name.
// Like every membership change it is carried out only if a linearizable member
// list still equals Members, the one that it was decided on (S3, S11).
type AddLearner struct {
	Name    string
	Members []facts.Member
}

// Promote gives a learner its vote (S5).
type Promote struct {
	ID      uint64
	Name    string
	Members []facts.Member
}

// RemoveMember takes a member out of the member list (S4). It is carried out only if all
// Pods, read live, are as they were observed, and the member's is still as Pod says: the
// same uid and the same attempt of its StartPermit, or none if Pod is nil (S9, S11).
type RemoveMember struct {
	ID      uint64
	Name    string
	Members []facts.Member
	Pod     *facts.Pod
}

// TransferLeadership asks the leader to transfer its leadership to another voter (S8).
type TransferLeadership struct {
	// From and To are names; ToID is To's member id.
	From, To string
	ToID     uint64
}

// EnableDowngrade asks etcd to lower its cluster version by a minor, which it validates
// itself (S10): members of that minor may start then, once their data is brought to it. It
// is carried out only if the cluster's Pods, read live, are as they were observed (S6,
// S11). Etcd refuses a repetition.
type EnableDowngrade struct {
	// To is a minor as etcd tells it, such as "3.5.0".
	To string
}

// CancelDowngrade takes that back. Etcd raises its cluster version again as soon as all
// members are seen to run a later minor: so no image of an earlier one may be on its way
// to a member then (S10), and it is carried out only if the cluster's Pods, read live, are
// as they were observed (S11). Etcd refuses a repetition.
type CancelDowngrade struct{}

// AdvanceLog has raft append so many entries to its log that change nothing, so that
// members write the snapshot that their snapshot count asks for. More of them than needed
// do no harm.
type AdvanceLog struct{ Entries int }

// ChangeImage gives the etcd container of a Pod another image, in place: its kubelet
// ends the container and starts it anew in the same Pod, on the same data. It is
// carried out only if the cluster's Pods, read live, are as they were observed: the
// same names, uids, roles and images, none of them terminating (S6, S11).
type ChangeImage struct {
	Name, UID           string
	Repository, Version string
}

// RecreatePod deletes the Pod of a member that serves, by uid and with grace, so that it is
// recreated on its volume as the spec says now (S7). It is carried out only if the
// cluster's Pods, read live, are as they were observed, none of them terminating, and the
// volume is still the member's (S6, S11).
type RecreatePod struct{ Name, UID string }

// DisarmAlarm takes an alarm of etcd back. It is carried out only if a linearizable
// member list still equals Members: a CORRUPT alarm is disarmed only when the member that
// it names is out of the list, and a NOSPACE one only when every member's database is
// well below its quota.
type DisarmAlarm struct {
	MemberID uint64
	Alarm    facts.AlarmKind
	Members  []facts.Member
}

// Compact drops all that was before a revision, where the user allows it and a database
// has grown to its quota, and begins a round of defragmentations: At and Revision are
// latched in the status. To do it twice does no more.
type Compact struct {
	Revision int64
	At       time.Time
}

// CompareData begins a comparison of the members' data, beside the reconciles: each member
// in turn, the leader last, hashes its data at a revision that all have applied. A second
// one of the same members is not begun while one runs.
type CompareData struct{ Members []facts.Member }

// RecordConsistency latches in the status what a comparison has shown.
type RecordConsistency struct {
	At        time.Time
	Revision  int64
	Result    v1beta2.ConsistencyResult
	Differing []uint64
}

// BeginDefragment latches in the status when a round of defragmentations began.
type BeginDefragment struct{ At time.Time }

// Defragment makes one member write its database anew, on which it serves nothing (S6,
// S8). It is carried out only if the cluster's Pods, read live, are as they were
// observed, and if a linearizable member list still equals Members and another one leads,
// where there is one. It is written on the Pod before, against the Pod as it was read, so
// that of two operators one does it. It may go on in etcd after the action has ended.
type Defragment struct {
	Name, UID string
	ID        uint64
	Members   []facts.Member
}

// DeletePod deletes one Pod, by uid and with grace, never by force: of a member
// only to recreate it on its volume (S7). With Members set the Pod is no
// member's, and it is deleted only if a linearizable member list still equals them.
type DeletePod struct {
	Name, UID string
	Members   []facts.Member
}

// DeleteClaim deletes a volume claim that is no member's any more, by uid, and only
// if a linearizable member list still equals Members, a live read finds no Pod of its
// name, and another that it is still the cluster's (S7, S11).
type DeleteClaim struct {
	Name, UID string
	Members   []facts.Member
}

// GrowClaim lets a member's claim ask for more storage, by uid, and only if it still asks
// for From bytes and no other of the cluster's is still growing (S6, S11). Nothing is done
// to etcd; what the API server refuses is noted on the claim.
type GrowClaim struct {
	Name, UID  string
	From, Size int64
}

// KeepClaims brings claims to the form in which the EtcdCluster's policy has them: with
// Retain without an owner reference, so that nothing deletes them with it, and else with
// one. Those that stay tell in Version which etcd they need; empty if they don't. By uid,
// and only if each, read live, is still the cluster's (S7, S10, S12).
type KeepClaims struct {
	Claims  []ClaimRef
	Retain  bool
	Version string
}

// TakeClaims makes claims that an earlier EtcdCluster of the uid From has left this one's,
// by uid, and only those that, read live, are still From's and nobody's else. Nothing is
// made or deleted: what is on them is seen when all are taken (S1, S7).
type TakeClaims struct {
	From   string
	Claims []ClaimRef
}

// ClaimRef names one claim, by uid.
type ClaimRef struct{ Name, UID string }

// KindOf names an action in metrics, events and logs.
func KindOf(a Action) string { return a.traits().kind }

// Records reports whether an action is carried out by writing the status, or is done only
// when that has succeeded.
func Records(a Action) bool { return a != nil && a.traits().record != nil }

// Record writes into a status what an action latches there, if it does.
func Record(a Action, s *v1beta2.ClusterStatus) {
	if Records(a) {
		a.traits().record(s)
	}
}

// IsStep reports whether an action is a step on the way to something that is told when it is
// there: it gets no event of its own.
func IsStep(a Action) bool { return a.traits().step }

// IsWarning reports whether the event of an action is a Warning.
func IsWarning(a Action) bool { return a.traits().warning }

// MemberOf is the name of the one member that the event of an action is about; empty if it is
// about no single one.
func MemberOf(a Action) string { return a.traits().member }

// Adopts is the name of the Pod that is the cluster once an action is carried out; empty for
// most, and for none.
func Adopts(a Action) string {
	if a == nil {
		return ""
	}
	return a.traits().adopts
}

// IsOfFence reports whether an action is etcd-operator's part of a restore: it is written
// against the EtcdCluster that was observed, which is fenced.
func IsOfFence(a Action) bool { return a.traits().ofFence }

func (a RecordBootstrap) traits() traits {
	return traits{kind: "RecordBootstrap", step: true, record: a.record}
}

func (a RecordBootstrap) record(s *v1beta2.ClusterStatus) {
	s.Bootstrap = &v1beta2.BootstrapStatus{Member: a.Member, Token: a.Token, Adopted: a.Adopted}
	s.CurrentVersion = a.Version
}

func (a LatchClusterID) traits() traits { return traits{kind: "LatchClusterID", record: a.record} }

func (a LatchClusterID) record(s *v1beta2.ClusterStatus) { s.ClusterID = facts.HexID(a.ClusterID) }

func (a RecordVersion) traits() traits { return traits{kind: "RecordVersion", record: a.record} }

func (a RecordVersion) record(s *v1beta2.ClusterStatus) {
	s.CurrentVersion, s.TargetVersion = a.Current, a.Target
	s.VersionIndex, s.UpgradeSize = int64(a.Index), a.Size
}

func (a AcknowledgeFence) traits() traits {
	return traits{kind: "AcknowledgeFence", ofFence: true, record: a.record}
}

func (a AcknowledgeFence) record(s *v1beta2.ClusterStatus) { s.FencedBy = a.Restore }

func (a LiftFence) traits() traits { return traits{kind: "LiftFence", ofFence: true, record: a.record} }

func (a LiftFence) record(s *v1beta2.ClusterStatus) { s.FencedBy = "" }

func (a AdoptSeed) traits() traits {
	return traits{kind: "AdoptSeed", ofFence: true, adopts: a.Name, record: a.record}
}

func (a AdoptSeed) record(s *v1beta2.ClusterStatus) {
	s.FencedBy = ""
	s.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: a.Restore, Pod: a.Name, PodUID: a.UID}
	beginAnew(s, a.Name, a.Restore, a.ClusterID, cmp.Or(a.Version, s.CurrentVersion))
	s.Recovery = nil // of a cluster that is no more
}

func (a RecordSurvivor) traits() traits { return traits{kind: "RecordSurvivor", record: a.record} }

func (a RecordSurvivor) record(s *v1beta2.ClusterStatus) { s.Recovery = a.Recovery.Status() }

func (a RevokeSurvivorPermit) traits() traits {
	return traits{kind: "RevokeSurvivorPermit", object: a.Name, step: true}
}

func (a AdoptSurvivor) traits() traits {
	return traits{kind: "AdoptSurvivor", adopts: a.Name, record: a.record}
}

func (a AdoptSurvivor) record(s *v1beta2.ClusterStatus) {
	s.Recovery.Phase = v1beta2.RecoveryGrowing
	beginAnew(s, a.Name, a.Token, a.ClusterID, s.Recovery.Version)
}

func (a DropSeed) traits() traits { return traits{kind: "DropSeed", object: a.Name} }

func (a EndRecovery) traits() traits { return traits{kind: "EndRecovery", record: a.record} }

func (a EndRecovery) record(s *v1beta2.ClusterStatus) {
	if !a.Complete {
		s.Recovery = nil
		return
	}
	s.Recovery.Phase = v1beta2.RecoveryComplete
}

func (CreatePods) traits() traits { return traits{kind: "CreatePods"} }

func (SetRoles) traits() traits { return traits{kind: "SetRoles", step: true} }

func (a GrantStartPermit) traits() traits {
	return traits{kind: "GrantStartPermit", object: a.Name, step: true}
}

func (RevokeStartPermits) traits() traits { return traits{kind: "RevokeStartPermits", step: true} }

func (a AddLearner) traits() traits { return traits{kind: "AddLearner", member: a.Name} }

func (a Promote) traits() traits { return traits{kind: "Promote", member: a.Name} }

func (a RemoveMember) traits() traits { return traits{kind: "RemoveMember", member: a.Name} }

func (TransferLeadership) traits() traits { return traits{kind: "TransferLeadership", step: true} }

func (EnableDowngrade) traits() traits { return traits{kind: "EnableDowngrade"} }

func (CancelDowngrade) traits() traits { return traits{kind: "CancelDowngrade"} }

func (AdvanceLog) traits() traits { return traits{kind: "AdvanceLog"} }

func (a ChangeImage) traits() traits { return traits{kind: "ChangeImage", object: a.Name} }

func (a RecreatePod) traits() traits { return traits{kind: "RecreatePod", object: a.Name} }

func (DisarmAlarm) traits() traits { return traits{kind: "DisarmAlarm"} }

func (a Compact) traits() traits { return traits{kind: "Compact", record: a.record} }

func (a Compact) record(s *v1beta2.ClusterStatus) {
	m := maintenanceOf(s)
	m.LastDefragmentTime, m.LastRepairTime, m.CompactedRevision = wholeSeconds(a.At), wholeSeconds(a.At), a.Revision
}

func (CompareData) traits() traits { return traits{kind: "CompareData", step: true} }

func (a RecordConsistency) traits() traits {
	return traits{kind: "RecordConsistency", step: a.Result == v1beta2.ResultConsistent, warning: true, record: a.record}
}

func (a RecordConsistency) record(s *v1beta2.ClusterStatus) {
	s.Consistency = &v1beta2.ConsistencyStatus{LastCheckTime: *wholeSeconds(a.At), Revision: a.Revision, Result: a.Result}
	for _, id := range a.Differing {
		s.Consistency.DifferingMembers = append(s.Consistency.DifferingMembers, facts.HexID(id))
	}
}

func (a BeginDefragment) traits() traits { return traits{kind: "BeginDefragment", record: a.record} }

func (a BeginDefragment) record(s *v1beta2.ClusterStatus) {
	maintenanceOf(s).LastDefragmentTime = wholeSeconds(a.At)
}

func (a Defragment) traits() traits { return traits{kind: "Defragment", object: a.Name, step: true} }

func (a DeletePod) traits() traits { return traits{kind: "DeletePod", object: a.Name} }

func (a DeleteClaim) traits() traits { return traits{kind: "DeleteClaim", object: a.Name} }

func (GrowClaim) traits() traits { return traits{kind: "GrowClaim"} }

func (KeepClaims) traits() traits { return traits{kind: "KeepClaims"} }

func (TakeClaims) traits() traits { return traits{kind: "TakeClaims", step: true} }

// beginAnew records that the cluster is another one from now on, with the data of one Pod.
func beginAnew(s *v1beta2.ClusterStatus, member, token string, clusterID uint64, version string) {
	s.Bootstrap = &v1beta2.BootstrapStatus{Member: member, Token: token}
	s.ClusterID = facts.HexID(clusterID)
	s.CurrentVersion, s.TargetVersion, s.VersionIndex, s.UpgradeSize = version, "", 0, 0
	s.Consistency = nil               // of members that are no more
	if m := s.Maintenance; m != nil { // of another history
		m.LastRepairTime, m.CompactedRevision = nil, 0
	}
}

// maintenanceOf is the part of a status about maintenance, made if there is none.
func maintenanceOf(s *v1beta2.ClusterStatus) *v1beta2.MaintenanceStatus {
	if s.Maintenance == nil {
		s.Maintenance = &v1beta2.MaintenanceStatus{}
	}
	return s.Maintenance
}

// wholeSeconds is a moment as the API server keeps it, never later than it was.
func wholeSeconds(t time.Time) *metav1.Time {
	whole := metav1.NewTime(t.Truncate(time.Second))
	return &whole
}
