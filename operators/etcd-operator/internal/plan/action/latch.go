package action

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// RecordBootstrap latches the seed's name and token, and the version that the
// cluster begins with, in the status (S1). Nothing else is done before that has
// succeeded. It is recorded only if a live list shows no claim of the cluster's name that
// is not of this very beginning: unless Adopted there is none at all.
type RecordBootstrap struct {
	facts.Bootstrap
	Version string
}

// LatchClusterID latches the cluster id that the seed reports (S1), or members on adopted
// volumes. Nobody knows for how long these have run this minor: Index is raft's index now, and 0
// of a cluster that has just begun (see VersionIndex).
type LatchClusterID struct{ ClusterID, Index uint64 }

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

// EndRecovery latches that a recovery is over: complete, or aborted before its seed
// was adopted, so that no more is known of it.
type EndRecovery struct {
	Token    string
	Complete bool
}

// Compact drops all that was before a revision, where the user allows it and a database
// has grown to its quota, and begins a round of defragmentations: At and Revision are
// latched in the status. To do it twice does no more.
type Compact struct {
	Revision int64
	At       time.Time
}

// RecordConsistency latches in the status what a comparison has shown.
type RecordConsistency struct {
	At        time.Time
	Revision  int64
	Result    v1beta2.ConsistencyResult
	Differing []uint64
}

// BeginDefragment latches in the status when a round of defragmentations began, and which
// request it answers; Request is empty if nobody has asked.
type BeginDefragment struct {
	At      time.Time
	Request string
}

// AnswerLeaderRequest latches in the status that a request for another leader is answered: the
// member leads, or Refused says why it was not made to.
type AnswerLeaderRequest struct{ Request, Refused string }

func (a RecordBootstrap) traits() traits {
	return traits{kind: "RecordBootstrap", step: true, record: a.record}
}

func (a RecordBootstrap) record(s *v1beta2.ClusterStatus) {
	s.Bootstrap = &v1beta2.BootstrapStatus{Member: a.Member, Token: a.Token, Adopted: a.Adopted}
	s.CurrentVersion = a.Version
}

func (a LatchClusterID) traits() traits { return traits{kind: "LatchClusterID", record: a.record} }

func (a LatchClusterID) record(s *v1beta2.ClusterStatus) {
	s.ClusterID, s.VersionIndex = facts.HexID(a.ClusterID), int64(a.Index)
}

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

func (a AdoptSurvivor) traits() traits {
	return traits{kind: "AdoptSurvivor", adopts: a.Name, record: a.record}
}

func (a AdoptSurvivor) record(s *v1beta2.ClusterStatus) {
	s.Recovery.Phase = v1beta2.RecoveryGrowing
	beginAnew(s, a.Name, a.Token, a.ClusterID, s.Recovery.Version)
}

func (a EndRecovery) traits() traits { return traits{kind: "EndRecovery", record: a.record} }

func (a EndRecovery) record(s *v1beta2.ClusterStatus) {
	if !a.Complete {
		s.Recovery = nil
		return
	}
	s.Recovery.Phase = v1beta2.RecoveryComplete
}

func (a Compact) traits() traits { return traits{kind: "Compact", record: a.record} }

func (a Compact) record(s *v1beta2.ClusterStatus) {
	m := maintenanceOf(s)
	m.LastDefragmentTime, m.LastRepairTime, m.CompactedRevision = wholeSeconds(a.At), wholeSeconds(a.At), a.Revision
}

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
	m := maintenanceOf(s)
	m.LastDefragmentTime = wholeSeconds(a.At)
	if a.Request != "" {
		m.DefragmentRequest = a.Request
	}
}

func (a AnswerLeaderRequest) traits() traits {
	return traits{kind: "AnswerLeaderRequest", warning: a.Refused != "", record: a.record}
}

func (a AnswerLeaderRequest) record(s *v1beta2.ClusterStatus) {
	m := maintenanceOf(s)
	m.LeaderRequest, m.LeaderRefused = a.Request, a.Refused
}

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
